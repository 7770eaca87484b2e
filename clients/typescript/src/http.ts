import { errorOf, ImaboError, isFault, show } from "./errors.js";
import { after, Backoff, now, sleep } from "./pauses.js";

/** One request of the API. */
export interface Call {
  readonly method: string;
  readonly path: string;
  readonly body?: unknown;
}

/** What the service answered. */
export interface Answer {
  readonly status: number;
  readonly retryAfterS: number;
  readonly text: string;
}

/** There was no answer, or not a whole one. */
export interface Failed {
  readonly failure: string;
}

export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

/** Where the service is and how hard to try: the time for one attempt, and how many follow. */
export interface Target {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly timeoutS: number;
  readonly retries: number;
  readonly fetch: Fetch;
}

const TRY_AGAIN = [429, 502, 503, 504];
const LONGEST_WAIT_S = 30; // that a service may ask for; beyond it the call fails at once
const REQUEST_ID = "X-Request-ID";
const OURS = hex(8); // what the ids of our requests begin with
let nRequests = 0;

/** A path of the API; each part is one segment, whatever it contains. */
export function pathOf(...parts: readonly string[]): string {
  // Dots alone would be taken for a way up.
  const segments = parts.map((part) =>
    /^\.+$/.test(part) ? part.replaceAll(".", "%2E") : encodeURIComponent(part)
  );
  return `/v1/${segments.join("/")}`;
}

/** Random bytes as text. */
export function hex(bytes: number): string {
  const drawn = crypto.getRandomValues(new Uint8Array(bytes));
  return Array.from(drawn, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Make one attempt: it ends in time, with an answer or with why there is none. */
export async function attempt(
  service: Target,
  call: Call,
  timeoutS: number,
  signal?: AbortSignal,
): Promise<Answer | Failed> {
  nRequests += 1;
  const id = `${OURS}-${nRequests}`;
  const headers: Record<string, string> = { ...service.headers, [REQUEST_ID]: id };
  const init: RequestInit = { method: call.method, headers, redirect: "manual", cache: "no-store" };
  if (call.body !== undefined) {
    headers["Content-Type"] = "application/json";
    init.body = jsonOf(call.body);
  }
  const abort = new AbortController();
  const stop = (): void => abort.abort();
  const cancel = after(timeoutS, stop);
  signal?.addEventListener("abort", stop);
  if (signal?.aborted === true) stop();
  try {
    const { fetch } = service; // called as a function: a browser's has no `this`
    const response = await fetch(service.url + call.path, { ...init, signal: abort.signal });
    // After a proxy that answers twice, a reward that was lost would look acknowledged.
    const answered = response.headers.get(REQUEST_ID) ?? "";
    const text = await response.text();
    if (answered.startsWith(OURS) && answered !== id) {
      return { failure: "the answer to another request" };
    }
    const retryAfterS = secondsOf(response.headers.get("Retry-After"));
    return { status: response.status, retryAfterS, text };
  } catch (error) {
    if (abort.signal.aborted) return { failure: `no whole answer within ${timeoutS.toFixed(3)} s` };
    return { failure: reasonOf(error) };
  } finally {
    cancel();
    signal?.removeEventListener("abort", stop);
  }
}

/** Make a call until it is answered; a refusal is an answer. */
export async function deliver(
  service: Target,
  call: Call,
  deadline = Infinity,
  signal?: AbortSignal,
): Promise<Answer> {
  const backoff = new Backoff(0.1, 2);
  for (let tried = 1;; tried += 1) {
    const timeoutS = Math.min(service.timeoutS, Math.max(deadline - now(), 0.001));
    const reply = await attempt(service, call, timeoutS, signal);
    if (!("failure" in reply) && !TRY_AGAIN.includes(reply.status)) return reply;
    const wanted = "failure" in reply ? 0 : reply.retryAfterS;
    const pause = Math.max(backoff.pause(), wanted);
    const isLate = now() + pause >= deadline || signal?.aborted === true;
    if (tried > service.retries || isLate || pause > LONGEST_WAIT_S) {
      const last = "failure" in reply ? reply.failure : `status ${reply.status}`;
      throw new ImaboError(
        "unavailable",
        `${call.method} ${call.path} did not get through; it was tried ${
          tried === 1 ? "once" : `${tried} times`
        }`,
        `the last attempt ended with ${last}`,
        `check that the service runs at ${service.url}, then try again`,
      );
    }
    await sleep(pause, signal);
  }
}

/**
 * What an answer says: the value, or the error that the service answered with.
 *
 * An answer that does not come from imabo (a proxy's page, say) is `"unavailable"`, and so is a
 * fault of the service.
 */
export function read<T>(call: Call, answer: Answer, decode: (document: unknown) => T): T {
  let error: ImaboError;
  try {
    const document: unknown = answer.status === 204 ? undefined : JSON.parse(answer.text);
    if (answer.status >= 200 && answer.status < 300) return decode(document);
    error = errorOf(document);
  } catch {
    throw new ImaboError(
      "unavailable",
      `${call.method} ${call.path} was answered with ${answer.status} and ${show(answer.text)}`,
      "this is not an answer of imabo's API",
      "check that the address is that of imabo's service",
    );
  }
  if (isFault(answer.status, error)) {
    const what = `${call.method} ${call.path} was answered with ${answer.status}: ${error.what}`;
    throw new ImaboError("unavailable", what, error.why, error.fix);
  }
  throw error;
}

/** Reads the answer to a call that has nothing to say but that it was done. */
export function nothing(document: unknown): void {
  if (document !== undefined) throw new TypeError("an answer without a body was expected");
}

/** Reads an object, as the service wrote it. */
export function object<T extends object>(document: unknown): T {
  if (typeof document !== "object" || document === null) throw new TypeError("no object");
  return document as T;
}

function jsonOf(body: unknown): string {
  try {
    return JSON.stringify(body, refuseNaN);
  } catch (error) {
    throw new ImaboError(
      "invalid_setting",
      `${show(body)} cannot be sent`,
      `it travels as JSON, which cannot hold it (${reasonOf(error)})`,
      "use numbers, texts, lists and objects",
    );
  }
}

function refuseNaN(name: string, value: unknown): unknown {
  // JSON.stringify makes null of these, which would be another value.
  if (typeof value === "number" && !Number.isFinite(value)) {
    throw new TypeError(`${name} is ${value}`);
  }
  return value;
}

function secondsOf(text: string | null): number {
  if (text === null) return 0;
  if (/^[0-9]{1,9}$/.test(text)) return Number(text);
  const moment = Date.parse(text);
  return Number.isNaN(moment) ? 0 : Math.max((moment - Date.now()) / 1000, 0);
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  // Node says "fetch failed", and keeps why in the cause.
  const cause = error.cause instanceof Error
    ? (error.cause as Error & { code?: string })
    : undefined;
  const why = cause === undefined ? "" : `: ${cause.message || cause.code}`;
  return `${error.name} (${error.message}${why})`;
}
