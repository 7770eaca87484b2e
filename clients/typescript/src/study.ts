import type { components } from "./api.js";
import { ImaboError, show } from "./errors.js";
import { type Call, hex, nothing, object, pathOf } from "./http.js";
import { type Address, type Report, resultsOf, rewardsCall } from "./outbox.js";
import { after, now } from "./pauses.js";
import type { Session } from "./session.js";
import { checkConfig, type Config, type SpaceDocument } from "./space.js";

type Schemas = components["schemas"];
/** A study: what it was created with, and how far it has come. */
export type Facts = Schemas["StudyAnswer"];
/** The arm to keep if learning stopped now. */
export type Best = Schemas["BestAnswer"];
/** One request and the configuration to serve it with; the reason is `"default"` for a default. */
export type Pull<C = Config> = Omit<Schemas["PullAnswer"], "config"> & { config: C };

export interface AskOptions<C = Config> {
  /** Names this request: asked again with the same key, the study gives the same pull. */
  key?: string;
  /** JSON-safe values to store with the pull, at most 16,384 bytes. */
  context?: unknown;
  /** A configuration to serve when the service gives none; `ask` then never fails. */
  default?: C;
  /** How long the answer may take in all; with a default, the client's `timeoutS` if left out. */
  deadlineS?: number;
}

/** Which pull: its id, a pull itself, or the key of its ask (and which of its pulls, from 0). */
export type Whose = string | { readonly id: string } | {
  readonly key: string;
  readonly part?: number;
};

export interface TellOptions {
  /** Signals of the pull, such as its cost, recorded with the reward or refused with it. */
  signals?: Readonly<Record<string, number | boolean>>;
  /** False to return at once and send it in the background. */
  wait?: boolean;
}

/** One reward of many. */
export interface Told extends Pick<TellOptions, "signals"> {
  pull: Whose;
  reward?: number | boolean;
}

const MOST = 1000; // pulls or rewards of one call
const MOST_PULLS = 10_000;
const RANGE_S = 1; // to ask for the study's range before a reward is refused
const LONGEST_S = 86_400;
const RETRY_PREFIX = "imabo-retry-"; // of keys that clients make where the caller gave none
const DEFAULT_PREFIX = "default-"; // no study's ids start so
const PULL_ID = /^[A-Za-z0-9]{1,64}-[1-9][0-9]{0,17}$/;

/** A study of the service: ask which configuration to serve, and tell the reward. */
export class Study<C extends object = Config> {
  readonly name: string;
  readonly #session: Session;
  readonly #space: SpaceDocument | undefined; // that defaults are judged by: the declared one
  #range: readonly number[] | null | undefined; // undefined: not known here

  /** Use `client.create`, `client.open` or `client.study`. */
  constructor(session: Session, name: string, facts?: Facts, space?: SpaceDocument) {
    if (typeof name !== "string" || name === "" || name.length > 200) {
      throw invalid(
        `the name of a study is ${show(name)}`,
        "it must be a text of 1 to 200 characters",
      );
    }
    this.name = name;
    this.#session = session;
    this.#range = facts?.reward_range;
    this.#space = space ?? (facts?.space as SpaceDocument | undefined);
  }

  /**
   * The configuration to serve the next request with.
   *
   * With a default this never rejects for what the service does, and never takes longer than its
   * deadline: when the service is away, slow or broken, the pull has the default's configuration
   * and the reason `"default"`. Tell its reward like any other; it is dropped.
   */
  async ask(options: AskOptions<C> = {}): Promise<Pull<C>> {
    const [pull] = await this.askMany(1, options);
    return pull as Pull<C>;
  }

  /** Several pulls, up to 10,000; with a key at most 1,000. */
  async askMany(count: number, options: AskOptions<C> = {}): Promise<Pull<C>[]> {
    if (!Number.isInteger(count) || count < 1 || count > MOST_PULLS) {
      throw invalid(`count is ${show(count)}`, "it must be an integer from 1 to 10000");
    }
    this.#checkOptions(options);
    if (options.default === undefined) return this.#asked(count, options, options.deadlineS);
    const asked = await this.attempt(count, options);
    if (asked instanceof Array) return asked;
    const { key, context, default: config } = options;
    return Array.from(
      { length: count },
      (_, part) => this.#defaultPull(config, key, context, part),
    );
  }

  /**
   * Ask as with a default, for those who have one of their own: in time, and not at all while the
   * service is left alone. Where there are no pulls it gives the reason; rewards that name the key
   * are then dropped, as those of a default.
   */
  async attempt(
    count: number,
    options: Omit<AskOptions<C>, "default">,
  ): Promise<Pull<C>[] | ImaboError> {
    const { breaker, service, isClosed } = this.#session;
    const { key, deadlineS: limitS = service.timeoutS } = options;
    let error = leftAlone(service.url);
    if (!isClosed && limitS > 0 && breaker.admits()) {
      try {
        const pulls = await this.#asked(count, options, limitS);
        breaker.record(true);
        return pulls;
      } catch (failure) {
        // Whatever it was, the application goes on.
        error = failure instanceof ImaboError ? failure : unexpected(failure);
        breaker.record(!error.isUnavailable);
        this.#session.servesDefault(this.name, error);
      }
    }
    if (typeof key === "string") this.#session.addDefaultKey(this.name, key);
    return error;
  }

  /**
   * Report the reward of a pull: late, repeated or never. Another value than before is refused
   * (`"reward_conflict"`).
   *
   * When the service does not answer within the client's `timeoutS`, or did not lately, the reward
   * is kept and sent in the background.
   */
  async tell(pull: Whose, reward: number | boolean, options: TellOptions = {}): Promise<void> {
    const { signals, wait = true } = options;
    await this.#report({ pull, reward, ...(signals && { signals }) }, wait);
  }

  /** Report a signal of a pull, such as its cost. */
  async signal(
    pull: Whose,
    name: string,
    value: number | boolean,
    { wait = true }: Pick<TellOptions, "wait"> = {},
  ): Promise<void> {
    await this.#report({ pull, signals: { [name]: value } }, wait);
  }

  /**
   * Report many rewards; for each undefined, or the error that `tell` would reject with. A reward
   * that is kept because the service does not answer counts as told.
   */
  async tellMany(rewards: readonly Told[]): Promise<(ImaboError | undefined)[]> {
    this.#session.checkOpen();
    const errors: (ImaboError | undefined)[] = rewards.map(() => undefined);
    let waiting: { place: number; report: Report }[] = [];
    for (const [place, told] of rewards.entries()) {
      try {
        if (this.#isOutside(told.reward)) await this.#lookAtRange();
        for (const report of this.#reports(told)) waiting.push({ place, report });
      } catch (error) {
        errors[place] = refusal(error);
      }
    }
    const later: typeof waiting = [];
    while (waiting.length > 0) {
      const batch = waiting.slice(0, MOST);
      try {
        const results = await this.#tellBatch(batch.map(({ report }) => report));
        batch.forEach((one, position) => {
          const error = results[position];
          if (error?.isUnavailable === true) later.push(one);
          else errors[one.place] ??= error;
        });
      } catch (error) {
        if (!refusal(error).isUnavailable) throw error;
        later.push(...waiting);
        break;
      }
      waiting = waiting.slice(MOST);
    }
    for (const { place, report } of later) {
      try {
        this.#session.keep([report]);
      } catch (error) {
        errors[place] ??= refusal(error);
      }
    }
    return errors;
  }

  /** What the study is, and how far it has come. */
  async facts(): Promise<Facts> {
    return this.#session.call(
      { method: "GET", path: this.#path() },
      (found) => object<Facts>(found),
    );
  }

  /** The recommendation: the configuration to keep if learning stopped now. */
  async best(): Promise<Omit<Best, "config"> & { config: C }> {
    const call: Call = { method: "GET", path: this.#path("best") };
    return this.#session.call(call, (found) => object<Omit<Best, "config"> & { config: C }>(found));
  }

  /** Wait until nothing of the client is left to send, for so long at most (its `flushS`). */
  flush(timeoutS = this.#session.flushS): Promise<boolean> {
    return this.#session.outbox.flush(timeoutS);
  }

  // --- asks --------------------------------------------------------------------------------------

  #path(...parts: readonly string[]): string {
    return pathOf("studies", this.name, ...parts);
  }

  #checkOptions({ default: config, deadlineS }: AskOptions<C>): void {
    if (deadlineS !== undefined && !(deadlineS >= 0 && deadlineS <= LONGEST_S)) {
      throw invalid(
        `deadlineS is ${show(deadlineS)}`,
        "it must be a number of seconds up to a day",
      );
    }
    if (config === undefined) return;
    if (typeof config !== "object" || config === null || Array.isArray(config)) {
      throw invalid(
        `default is ${show(config)}`,
        "it must be a configuration, an object of values",
      );
    }
    if (this.#space !== undefined) checkConfig(this.#space, config as Config);
  }

  async #asked(
    count: number,
    options: AskOptions<C>,
    limitS: number | undefined,
  ): Promise<Pull<C>[]> {
    this.#session.checkOpen();
    if (limitS === undefined) return this.#newPulls(count, options, Infinity);
    // One timer over all: what one attempt may take does not bound a call with retries.
    const abort = new AbortController();
    let cancel = (): void => undefined;
    const late = new Promise<never>((_, reject) => {
      cancel = after(limitS, () => {
        abort.abort();
        reject(
          new ImaboError(
            "unavailable",
            `an ask of study '${this.name}' was not answered within ${limitS} s`,
            "this was its deadline",
            `check that the service runs at ${this.#session.service.url}, or allow more time`,
          ),
        );
      });
    });
    const pulls = this.#newPulls(count, options, now() + limitS, abort.signal);
    try {
      return await Promise.race([pulls, late]);
    } finally {
      cancel();
      pulls.catch(() => undefined); // when it is late nobody waits for it any more
    }
  }

  async #newPulls(
    count: number,
    { key, context }: AskOptions<C>,
    deadline: number,
    signal?: AbortSignal,
  ): Promise<Pull<C>[]> {
    if (key !== undefined && count > MOST) {
      throw invalid(`count is ${count}`, `with a key, one ask gives at most ${MOST} pulls`);
    }
    const pulls: Pull<C>[] = [];
    while (pulls.length < count) {
      const wanted = Math.min(count - pulls.length, MOST);
      // An ask that is sent again, because its answer got lost, gets the same pulls.
      const body = { count: wanted, key: key ?? RETRY_PREFIX + hex(16), context: context ?? null };
      const call: Call = { method: "POST", path: this.#path("pulls"), body };
      pulls.push(...(await this.#session.call(call, pullsOf<C>(wanted), deadline, signal)));
    }
    for (const { id } of pulls.slice(0, 1)) this.#session.tokens.set(tokenOf(id), this.name);
    // An answer that came too late is no answer: the default was served.
    if (key !== undefined && signal?.aborted !== true) {
      this.#session.discardDefaultKey(this.name, key);
    }
    return pulls;
  }

  #defaultPull(config: C, key: string | undefined, context: unknown, part: number): Pull<C> {
    return {
      id: DEFAULT_PREFIX + hex(8),
      study: this.name,
      arm: 0,
      config: { ...config },
      reason: "default",
      served_at: new Date().toISOString(),
      state: "pending",
      reward: null,
      rewarded_at: null,
      key: key ?? null,
      part,
      signals: {},
      context: context ?? null,
      group: null,
      propensity: null,
    };
  }

  // --- rewards -----------------------------------------------------------------------------------

  /** What is to be sent of one reward; nothing for a default's. */
  #reports({ pull, reward, signals }: Told): Report[] {
    this.#session.checkOpen();
    const values = Object.entries(signals ?? {}).map(([name, value]) => {
      if (name === "") throw refusedSignal("a signal has no name", "it must be an identifier");
      return { signal: name, value: numberOf(value, "invalid_signal", `the signal '${name}'`) };
    });
    const isReward = reward !== undefined || values.length === 0;
    const told = isReward ? [{ value: this.#inRange(reward) }, ...values] : values;
    const to = this.#addressOf(pull);
    return to === undefined ? [] : told.map((one) => ({ to, ...one }));
  }

  async #report(told: Told, wait: boolean): Promise<void> {
    const { breaker, outbox, service } = this.#session;
    // Nothing else is awaited before it is kept: a flush that follows knows of it.
    if (this.#isOutside(told.reward)) await this.#lookAtRange();
    const reports = this.#reports(told);
    // One that waits already stays in its place; another value for it is refused.
    const fresh = reports.filter((report) => !outbox.holds(report));
    const [first] = fresh;
    if (first === undefined) return;
    if (wait && fresh.length === reports.length && breaker.admits()) {
      // The outbox takes over soon, so the caller need not wait for every retry.
      const deadline = now() + service.timeoutS;
      try {
        if ("pull" in first.to) await this.#checkMine(first.to.pull, deadline);
        await this.#session.call(reportCall(first.to, fresh), nothing, deadline);
        breaker.record(true);
        return;
      } catch (error) {
        const isAway = refusal(error).isUnavailable;
        breaker.record(!isAway);
        if (!isAway) throw error;
      }
    }
    this.#session.keep(fresh);
  }

  async #tellBatch(reports: readonly Report[]): Promise<(ImaboError | undefined)[]> {
    const deadline = now() + this.#session.service.timeoutS;
    const strange = new Map<Report, ImaboError>();
    for (const report of reports) {
      try {
        if ("pull" in report.to) await this.#checkMine(report.to.pull, deadline);
      } catch (error) {
        if (refusal(error).isUnavailable) throw error;
        strange.set(report, refusal(error));
      }
    }
    const mine = reports.filter((report) => !strange.has(report));
    const results = mine.length === 0
      ? []
      : await this.#session.call(rewardsCall(mine), resultsOf(mine), deadline);
    const told = new Map(mine.map((report, place) => [report, results[place]]));
    return reports.map((report) => strange.get(report) ?? told.get(report));
  }

  #isOutside(reward: unknown): boolean {
    return typeof reward === "number" && !isWithin(reward, this.#range);
  }

  /** The range may have changed since; when the service is away, what is known counts. */
  async #lookAtRange(): Promise<void> {
    const { breaker } = this.#session;
    if (!breaker.admits()) return;
    try {
      const call: Call = { method: "GET", path: this.#path() };
      const decode = (found: unknown): Facts => object<Facts>(found);
      this.#range = (await this.#session.call(call, decode, now() + RANGE_S)).reward_range;
      breaker.record(true);
    } catch (error) {
      breaker.record(!refusal(error).isUnavailable);
    }
  }

  /** A reward that the study takes, as far as is known here. */
  #inRange(reward: unknown): number {
    const value = numberOf(reward, "invalid_reward", "the reward");
    if (isWithin(value, this.#range)) return value;
    throw new ImaboError(
      "invalid_reward",
      `the reward is ${value}`,
      `it must be within ${show(this.#range)}, the study's range`,
      "correct it, or give the study another range",
    );
  }

  #addressOf(whose: Whose): Address | undefined {
    if (typeof whose === "object" && whose !== null && !("id" in whose)) {
      const { key, part } = whose;
      if (typeof key !== "string" || key === "" || key.length > 200) {
        throw invalid(`key is ${show(key)}`, "it must be a text of 1 to 200 characters");
      }
      if (this.#session.drops(this.name, key)) return undefined;
      return { study: this.name, key, ...(part !== undefined && { part }) };
    }
    const id = typeof whose === "string" ? whose : whose?.id;
    if (typeof id === "string" && id.startsWith(DEFAULT_PREFIX)) return undefined;
    if (typeof id !== "string" || !PULL_ID.test(id)) throw this.#unknownPull(id);
    return { pull: id };
  }

  /**
   * Refuse the pull of another study; its id alone would do for the service.
   *
   * An id starts with the token of its study. A client that knows neither this token nor another
   * one of the study sends the reward without a look: most tell what others asked for.
   */
  async #checkMine(id: string, deadline: number): Promise<void> {
    const { tokens } = this.#session;
    const token = tokenOf(id);
    if (tokens.get(token) === this.name) return;
    if (!tokens.has(token) && ![...tokens.values()].includes(this.name)) return;
    const call: Call = { method: "GET", path: pathOf("pulls", id) };
    const { study } = await this.#session.call(call, (found) => object<Pull>(found), deadline);
    tokens.set(token, study);
    if (study !== this.name) throw this.#unknownPull(id);
  }

  #unknownPull(id: unknown): ImaboError {
    return new ImaboError(
      "unknown_pull",
      `no pull has the id ${show(id)}`,
      `study '${this.name}' never handed it out`,
      "pass the id of a pull that ask() of this study returned, or its key as { key }",
    );
  }
}

function pullsOf<C>(count: number) {
  return (document: unknown): Pull<C>[] => {
    const { pulls } = object<{ pulls: Pull<C>[] }>(document);
    if (pulls.length !== count) throw new TypeError(`${count} pulls were expected`);
    return pulls;
  };
}

/** One call for a reward with its signals, or for one signal alone. */
function reportCall(to: Address, reports: readonly Report[]): Call {
  const path = "pull" in to ? ["pulls", to.pull] : ["studies", to.study, "keys", to.key];
  const part = "part" in to ? { part: to.part } : {};
  const reward = reports.find(({ signal }) => signal === undefined);
  const others = reports.filter(({ signal }) => signal !== undefined);
  const [first] = others;
  if (reward === undefined && first?.signal !== undefined && others.length === 1) {
    const body = { value: first.value, ...part };
    return { method: "PUT", path: pathOf(...path, "signals", first.signal), body };
  }
  const signals = Object.fromEntries(others.map(({ signal, value }) => [signal, value]));
  const body = { reward: reward?.value, ...(others.length > 0 && { signals }), ...part };
  return { method: "PUT", path: pathOf(...path, "reward"), body };
}

function tokenOf(id: string): string {
  return id.slice(0, id.lastIndexOf("-"));
}

function isWithin(value: number, range: readonly number[] | null | undefined): boolean {
  const [low = -Infinity, high = Infinity] = range ?? [];
  return low <= value && value <= high;
}

function numberOf(value: unknown, code: string, what: string): number {
  if (typeof value === "boolean") return value ? 1 : 0;
  if (typeof value === "number" && Number.isFinite(value)) return value;
  const why = "it must be a finite number, true or false";
  throw new ImaboError(code, `${what} is ${show(value)}`, why, "correct it");
}

function invalid(what: string, why: string): ImaboError {
  return new ImaboError("invalid_setting", what, why, "pass another value");
}

function refusedSignal(what: string, why: string): ImaboError {
  return new ImaboError("invalid_signal", what, why, "correct the name");
}

/** An error as one of ours; anything else is a mistake in here and goes on its way. */
function refusal(error: unknown): ImaboError {
  if (error instanceof ImaboError) return error;
  throw error;
}

function leftAlone(url: string): ImaboError {
  const why = "the client is closed, or it leaves the service alone after failures in a row";
  const fix = `check that the service runs at ${url}`;
  return new ImaboError("unavailable", "the service was not asked", why, fix);
}

function unexpected(error: unknown): ImaboError {
  const why = "something went wrong that nobody expected";
  return new ImaboError("unavailable", String(error), why, "report it");
}
