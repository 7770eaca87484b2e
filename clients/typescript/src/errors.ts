import type { components } from "./api.js";

type Problem = components["schemas"]["Problem"];

/**
 * Every error that this package raises on purpose.
 *
 * `code` is stable and that of the service: `"unknown_study"`, `"reward_conflict"`, ... Codes of the
 * client itself are `"unavailable"` (no answer, or none of imabo's), `"invalid_setting"`,
 * `"invalid_config"`, `"invalid_reward"`, `"invalid_signal"`, `"unknown_pull"` and `"store_closed"`.
 */
export class ImaboError extends Error {
  readonly code: string;
  /** What happened, with the value that was seen. */
  readonly what: string;
  /** Why it was refused. */
  readonly why: string;
  /** What the caller can do about it. */
  readonly fix: string;

  constructor(code: string, what: string, why: string, fix: string) {
    super(`${what}: ${why}. To fix it, ${fix}.`);
    this.name = "ImaboError";
    this.code = code;
    this.what = what;
    this.why = why;
    this.fix = fix;
  }

  /** Whether the same call may do later: the service did not answer, or failed. */
  get isUnavailable(): boolean {
    return this.code === "unavailable";
  }
}

// Answers that ask for another attempt, and all that begin with a 5.
const TRY_AGAIN = [408, 425, 429];
// What a store could not do now, it may do later.
const OF_A_STORE = ["store_error", "schema_too_new", "store_closed", "outbox_full"];

/** The error that a problem document stands for; throws a TypeError where it is none. */
export function errorOf(problem: unknown): ImaboError {
  const { code, what, why, fix } = problem as Problem;
  for (const text of [code, what, why, fix]) {
    if (typeof text !== "string") throw new TypeError("not a problem document");
  }
  return new ImaboError(code, what, why, fix);
}

/** Whether it is the service that failed: one without a library answers 501, and always will. */
export function isFault(status: number, error: ImaboError): boolean {
  return status >= 500 && error.code !== "missing_extra";
}

/** Why one reward of a batch was not taken; `"unavailable"` where it is to be sent again. */
export function refusalOf(problem: unknown): ImaboError {
  const error = errorOf(problem);
  const status = Number((problem as Problem).status ?? 0);
  const isLater = TRY_AGAIN.includes(status) || isFault(status, error) ||
    OF_A_STORE.includes(error.code);
  return isLater ? new ImaboError("unavailable", error.what, error.why, error.fix) : error;
}

/** A value for a message, in few characters. */
export function show(value: unknown): string {
  let text: string | undefined;
  try {
    // JSON has no word for NaN and for large integers.
    const isPlain = typeof value === "number" || typeof value === "bigint";
    text = isPlain ? String(value) : JSON.stringify(value);
  } catch {
    text = undefined; // a cycle, say
  }
  text ??= String(value);
  return text.length > 80 ? `${text.slice(0, 77)}...` : text;
}
