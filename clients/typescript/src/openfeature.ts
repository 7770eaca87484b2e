import {
  ErrorCode,
  type EvaluationContext,
  GeneralError,
  type JsonValue,
  OpenFeatureEventEmitter,
  type Provider,
  ProviderEvents,
  ProviderFatalError,
  type ResolutionDetails,
  StandardResolutionReasons,
  type TrackingEventDetails,
} from "@openfeature/server-sdk";

import { ImaboError } from "./errors.js";
import { after, now } from "./pauses.js";
import type { Config, Scalar, SpaceDocument } from "./space.js";
import type { AskOptions, Pull, Study } from "./study.js";

/** A study of any space: flags look values up by name. */
type AnyStudy = Pick<Study, "name" | "tell" | "signal" | "facts" | "flush"> & {
  attempt(
    count: number,
    options: Pick<AskOptions, "key" | "context" | "deadlineS">,
  ): Promise<Pull<object>[] | ImaboError>;
};

export interface ProviderOptions {
  /**
   * What of the evaluation context names a request: its `targetingKey` by default, or an attribute
   * of it. With the id of a user as the targeting key, each user is served with one configuration,
   * always; then name the attribute that has the request's id.
   */
  key?: string;
  /** Other names for flags: `{ "answer-model": "support-answers.model" }`. */
  flags?: Readonly<Record<string, string>>;
  /** The events that are rewards, each with the value of one that carries none (null: it must). */
  rewards?: Readonly<Record<string, number | null>>;
  /** The attributes of the context that are stored; all of them when left out. */
  attributes?: readonly string[];
  /** How long an ask may take, in seconds; the client's `timeoutS` when left out. */
  deadlineS?: number;
  /** Where it says what became of an event that is no reward of any study: the console. */
  log?: (text: string) => void;
}

const MOST = 10_000; // requests that are remembered; the oldest are forgotten, and asked for again
const FAILED_S = 60; // that a request without a pull stays without one
const LOOK_S = 3; // that a look at a study may take
const AGAIN_S = 60; // between two looks at a study whose space does not have a flag

type Kind = "boolean" | "string" | "number" | "object";
interface Entry {
  readonly outcome: Promise<Pull<Config> | ImaboError>;
  failedAt?: number;
}
interface Place {
  readonly study: AnyStudy;
  readonly parameter?: string;
}
/** What a look at a study found. */
interface Declared {
  readonly at: number;
  readonly signals: ReadonlySet<string>;
  readonly parameters: ReadonlyMap<string, SpaceDocument["parameters"][number]>;
}

/**
 * Resolves the flags of OpenFeature to the configurations of studies.
 *
 * An object flag named as a study is a whole configuration; `study.parameter` is one parameter of
 * it, as a string, a number or a boolean. All flags of one request come from one pull: the context
 * names the request. The context is stored with the pull, and
 * `client.track("reward", context, { value: 1 })` tells its reward.
 */
export class ImaboProvider implements Provider {
  readonly metadata = { name: "imabo" } as const;
  readonly runsOn = "server";
  readonly events = new OpenFeatureEventEmitter();
  readonly #studies: ReadonlyMap<string, AnyStudy>;
  readonly #options: ProviderOptions;
  readonly #requests = new Map<string, Entry>();
  readonly #declared = new Map<string, Declared>();
  #isFailing = false;

  constructor(studies: AnyStudy | readonly AnyStudy[], options: ProviderOptions = {}) {
    const listed = "name" in studies ? [studies] : studies;
    this.#studies = new Map(listed.map((study) => [study.name, study]));
    this.#options = options;
    if (listed.length === 0 || this.#studies.size < listed.length) {
      throw invalid("studies", "a provider needs at least one study, and each name once");
    }
    for (const flag of Object.keys(options.flags ?? {})) {
      if (this.#placeOf(flag) === undefined) {
        throw invalid(
          `flags has '${flag}'`,
          "it must name a study, or a parameter as study.parameter",
        );
      }
    }
  }

  /** Look at the studies; a service that is away or refuses is an error, and may come back. */
  async initialize(): Promise<void> {
    for (const study of this.#studies.values()) {
      try {
        await this.#look(study);
      } catch (error) {
        this.#isFailing = true; // the first flag that is resolved makes it ready
        const isFatal = error instanceof ImaboError &&
          /^(unauthorized|forbidden)$/.test(error.code);
        const message = String(error instanceof Error ? error.message : error);
        throw isFatal ? new ProviderFatalError(message) : new GeneralError(message);
      }
    }
  }

  /** Send the rewards that wait, for the client's `flushS` at most; the client stays open. */
  async onClose(): Promise<void> {
    for (const study of this.#studies.values()) await study.flush();
    this.#requests.clear();
  }

  resolveBooleanEvaluation(flag: string, fallback: boolean, context: EvaluationContext) {
    return this.#resolve("boolean", flag, fallback, context);
  }

  resolveStringEvaluation(flag: string, fallback: string, context: EvaluationContext) {
    return this.#resolve("string", flag, fallback, context);
  }

  resolveNumberEvaluation(flag: string, fallback: number, context: EvaluationContext) {
    return this.#resolve("number", flag, fallback, context);
  }

  resolveObjectEvaluation<T extends JsonValue>(
    flag: string,
    fallback: T,
    context: EvaluationContext,
  ) {
    return this.#resolve("object", flag, fallback, context);
  }

  /**
   * Tell a reward, or a signal, of the request that the context names.
   *
   * Every study that the request was served with is told, or the one that `details.study` names;
   * `details.pull` names a pull by its id. Other numbers that a study declared as signals are told
   * as those. Other events are none of ours.
   */
  track(event: string, context: EvaluationContext, details: TrackingEventDetails = {}): void {
    const rewards = this.#options.rewards ?? { reward: null };
    const isReward = Object.hasOwn(rewards, event);
    const { value: given, study: named, pull, ...others } = details as Record<string, unknown>;
    const value = given ?? (isReward ? rewards[event] : undefined);
    const key = this.#keyOf(context);
    const whose = typeof pull === "string" ? pull : key === undefined ? undefined : { key };
    if (isReward && (whose === undefined || !isNumber(value))) {
      const why = whose === undefined ? "its context names no request" : "it carries no number";
      this.#say(`the event '${event}' tells no reward: ${why}`);
      return;
    }
    for (const study of this.#studies.values()) {
      if (whose === undefined || (named !== undefined && named !== study.name)) continue;
      if (typeof whose === "object" && !this.#hasPull(study, whose.key)) continue;
      const numbers = Object.entries(isReward ? others : { ...others, [event]: value });
      const signals = Object.fromEntries(
        numbers.filter((one): one is [string, number | boolean] => {
          const isDeclared = this.#declared.get(study.name)?.signals.has(one[0]) === true;
          return isDeclared && isNumber(one[1]);
        }),
      );
      const told = isReward && isNumber(value)
        ? [study.tell(whose, value, { signals, wait: false })]
        : Object.entries(signals).map(([name, one]) =>
          study.signal(whose, name, one, { wait: false })
        );
      for (const one of told) {
        one.catch((error: unknown) =>
          this.#say(`study '${study.name}' refused '${event}': ${error}`)
        );
      }
    }
  }

  // --- resolving ---------------------------------------------------------------------------------

  async #resolve<T>(
    kind: Kind,
    flag: string,
    fallback: T,
    context: EvaluationContext,
  ): Promise<ResolutionDetails<T>> {
    const failed = (errorCode: ErrorCode, errorMessage: string): ResolutionDetails<T> => ({
      value: fallback,
      reason: StandardResolutionReasons.ERROR,
      errorCode,
      errorMessage,
    });
    const place = this.#placeOf(flag);
    if (place === undefined) {
      const names = [...this.#studies.keys()].join(", ");
      return failed(
        ErrorCode.FLAG_NOT_FOUND,
        `'${flag}' names no study, nor a parameter of ${names}`,
      );
    }
    const { study, parameter } = place;
    if ((kind === "object") !== (parameter === undefined)) {
      const whole = "a study is an object, a parameter of it a string, a number or a boolean";
      return failed(ErrorCode.TYPE_MISMATCH, `'${flag}' is no ${kind}: ${whole}`);
    }
    if (parameter !== undefined) {
      const strange = await this.#strange(study, parameter, kind);
      if (strange !== undefined) {
        return failed(strange, `study '${study.name}' has no ${kind} '${parameter}'`);
      }
    }
    const key = this.#keyOf(context);
    if (key === undefined && parameter !== undefined) {
      // Each parameter would come from another pull: nobody's configuration.
      const what = this.#options.key ?? "targetingKey";
      return failed(
        ErrorCode.TARGETING_KEY_MISSING,
        `the context has no text '${what}', which names the request`,
      );
    }
    const pull = await this.#pullOf(study, key, context);
    if (pull instanceof ImaboError) return failed(codeOf(pull), pull.message);
    const flagMetadata = {
      study: study.name,
      pull: pull.id,
      arm: pull.arm,
      decision: pull.reason,
      ...(typeof pull.group === "string" && { group: pull.group }),
    };
    const variant = `arm-${pull.arm}`;
    const details = { variant, reason: StandardResolutionReasons.SPLIT, flagMetadata };
    if (parameter === undefined) return { ...details, value: { ...pull.config } as T };
    const value: Scalar | undefined = pull.config[parameter];
    if (value === undefined) {
      // The parameter is not active in this configuration: nothing is wrong.
      return { value: fallback, reason: StandardResolutionReasons.DEFAULT, flagMetadata };
    }
    if (typeof value !== kind) {
      return failed(
        ErrorCode.TYPE_MISMATCH,
        `'${flag}' is ${JSON.stringify(value)}, which is no ${kind}`,
      );
    }
    return { ...details, value: value as T };
  }

  /** Why a parameter cannot have a value of a type, as far as the space is known. */
  async #strange(study: AnyStudy, parameter: string, kind: Kind): Promise<ErrorCode | undefined> {
    const judged = (): ErrorCode | undefined => {
      const known = this.#declared.get(study.name)?.parameters;
      const found = known?.get(parameter);
      if (found === undefined) return known && ErrorCode.FLAG_NOT_FOUND;
      const values = found.type === "choice" ? found.values : [found.low];
      return values.some((value) => typeof value === kind) ? undefined : ErrorCode.TYPE_MISMATCH;
    };
    const isOld = now() - (this.#declared.get(study.name)?.at ?? Infinity) > AGAIN_S;
    // The space may have changed since.
    if (judged() !== undefined && isOld) await this.#look(study).catch(() => undefined);
    return judged();
  }

  /** The study that a flag names, and which parameter of it; names may have dots themselves. */
  #placeOf(flag: string): Place | undefined {
    const flags = this.#options.flags ?? {};
    const name = Object.hasOwn(flags, flag) ? (flags[flag] as string) : flag;
    const whole = this.#studies.get(name);
    if (whole !== undefined) return { study: whole };
    for (let dot = name.lastIndexOf("."); dot > 0; dot = name.lastIndexOf(".", dot - 1)) {
      const study = this.#studies.get(name.slice(0, dot));
      if (study !== undefined) return { study, parameter: name.slice(dot + 1) };
    }
    return undefined;
  }

  #keyOf(context: EvaluationContext): string | undefined {
    const found = context[this.#options.key ?? "targetingKey"];
    return typeof found === "string" && found !== "" ? found : undefined;
  }

  /**
   * Whether a request may have a pull of the study, as far as is remembered here.
   *
   * One that had its flags' defaults has none; nor has one of another study, where this provider
   * knows which of its studies it asked.
   */
  #hasPull(study: AnyStudy, key: string): boolean {
    const entry = this.#requests.get(idOf(study, key));
    if (entry !== undefined) return entry.failedAt === undefined;
    return ![...this.#studies.values()].some((one) => this.#requests.has(idOf(one, key)));
  }

  /**
   * The pull of a request: asked for once.
   *
   * A request that began with its flags' defaults goes on with those, even when the service comes
   * back in between: a mixture would be nobody's configuration, and its reward another one's.
   */
  async #pullOf(
    study: AnyStudy,
    key: string | undefined,
    context: EvaluationContext,
  ): Promise<Pull<Config> | ImaboError> {
    if (key === undefined) return this.#ask(study, undefined, context);
    const id = idOf(study, key);
    let entry = this.#requests.get(id);
    if (entry?.failedAt !== undefined && now() - entry.failedAt > FAILED_S) entry = undefined;
    if (entry === undefined) {
      const made: Entry = { outcome: this.#ask(study, key, context) };
      entry = made;
      void made.outcome.then((found) => {
        if (!(found instanceof ImaboError)) return;
        made.failedAt = now();
        // With another context it may go well.
        const isMine = codeOf(found) === ErrorCode.INVALID_CONTEXT &&
          this.#requests.get(id) === made;
        if (isMine) this.#requests.delete(id);
      });
    }
    this.#requests.delete(id);
    this.#requests.set(id, entry); // the newest is the last
    const [oldest] = this.#requests.keys();
    if (this.#requests.size > MOST && oldest !== undefined) this.#requests.delete(oldest);
    return entry.outcome;
  }

  async #ask(
    study: AnyStudy,
    key: string | undefined,
    context: EvaluationContext,
  ): Promise<Pull<Config> | ImaboError> {
    const { attributes, deadlineS } = this.#options;
    const { targetingKey, ...others } = context;
    const kept = Object.entries(others).filter(([name]) => attributes?.includes(name) !== false);
    const stored = {
      ...(targetingKey && { targeting_key: targetingKey }),
      ...Object.fromEntries(kept),
    };
    const asked = await study.attempt(1, {
      ...(Object.keys(stored).length > 0 && { context: stored }),
      ...(key !== undefined && { key }),
      ...(deadlineS !== undefined && { deadlineS }),
    });
    if (asked instanceof ImaboError) {
      if (asked.isUnavailable) this.#note(asked);
      return asked;
    }
    this.#note(undefined);
    if (!this.#declared.has(study.name)) void this.#look(study).catch(() => undefined);
    return asked[0] as Pull<Config>;
  }

  async #look(study: AnyStudy): Promise<void> {
    let cancel = (): void => undefined;
    const late = new Promise<never>((_, reject) => {
      cancel = after(
        LOOK_S,
        () => reject(new Error(`no answer of study '${study.name}' within ${LOOK_S} s`)),
      );
    });
    const facts = study.facts();
    try {
      const { signals, space } = await Promise.race([facts, late]);
      const { parameters } = space as unknown as SpaceDocument;
      this.#declared.set(study.name, {
        at: now(),
        signals: new Set(Object.keys(signals ?? {})),
        parameters: new Map(parameters.map((one) => [one.name, one])),
      });
    } finally {
      cancel();
      facts.catch(() => undefined);
    }
  }

  /** Say so when the studies begin to fail, and when they do no more. */
  #note(error: ImaboError | undefined): void {
    if (this.#isFailing === (error !== undefined)) return;
    this.#isFailing = error !== undefined;
    if (error === undefined) {
      this.events.emit(ProviderEvents.Ready, { message: "configurations come again" });
    } else this.events.emit(ProviderEvents.Error, { message: error.message });
  }

  #say(text: string): void {
    (this.#options.log ?? ((said: string) => console.warn(`imabo: ${said}`)))(text);
  }
}

function codeOf(error: ImaboError): ErrorCode {
  if (error.code === "unknown_study") return ErrorCode.FLAG_NOT_FOUND;
  // What the context says cannot be used: a key of another request, or too much to store.
  const isContext = ["invalid_setting", "key_conflict", "invalid_request"].includes(error.code);
  return isContext ? ErrorCode.INVALID_CONTEXT : ErrorCode.GENERAL;
}

function isNumber(value: unknown): value is number | boolean {
  return typeof value === "boolean" || (typeof value === "number" && Number.isFinite(value));
}

function idOf(study: AnyStudy, key: string): string {
  return JSON.stringify([study.name, key]);
}

function invalid(what: string, why: string): ImaboError {
  return new ImaboError("invalid_setting", what, why, "correct it");
}
