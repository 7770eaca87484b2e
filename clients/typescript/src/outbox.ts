import type { components } from "./api.js";
import { ImaboError, refusalOf } from "./errors.js";
import { type Answer, type Call, type Failed, object, pathOf, read } from "./http.js";
import { after, Backoff, now, Trouble } from "./pauses.js";

type RewardsAnswer = components["schemas"]["RewardsAnswer"];

/** Whose it is: a pull by its id, or by its study and the key of its ask. */
export type Address =
  | { readonly pull: string }
  | { readonly study: string; readonly key: string; readonly part?: number };

/** A reward, or a signal by its name, of one pull. */
export interface Report {
  readonly to: Address;
  readonly signal?: string;
  readonly value: number;
}

export type Log = (level: "info" | "warn", text: string) => void;

const MOST_REWARDS = 1000; // of one call
const LONGEST_WAIT_S = 60; // that a service may ask for
const HURRY_S = 0.1; // the longest pause between attempts while somebody waits for the outbox
const BLAMED_ON_CONTENT = [413, 422]; // a request is refused for one of its rewards, or all of them

/** The call that sends reports, and the reader of its answer. */
export function rewardsCall(reports: readonly Report[]): Call {
  const rewards = reports.map(({ to, signal, value }) =>
    signal === undefined ? { ...to, reward: value } : { ...to, signals: { [signal]: value } }
  );
  return { method: "POST", path: pathOf("rewards"), body: { rewards } };
}

/** For each report undefined, or why it was not taken. */
export function resultsOf(reports: readonly Report[]) {
  return (document: unknown): (ImaboError | undefined)[] => {
    const { results } = object<RewardsAnswer>(document);
    if (results.length !== reports.length) throw new TypeError("not as many as were sent");
    return results.map((result, place) => {
      for (const [name, value] of Object.entries(reports[place]?.to ?? {})) {
        if (result[name as "pull"] !== value) throw new TypeError("not those that were sent");
      }
      return result.status === "recorded" ? undefined : refusalOf(result.problem);
    });
  };
}

/** A report for people. */
export function inWords({ to, signal }: Report): string {
  const what = signal === undefined ? "" : `the signal '${signal}' of `;
  if ("pull" in to) return `${what}pull '${to.pull}'`;
  const part = to.part === undefined ? "" : `, part ${to.part},`;
  return `${what}key '${to.key}'${part} of study '${to.study}'`;
}

function idOf({ to, signal }: Report): string {
  const whose = "pull" in to ? [to.pull] : [to.study, to.key, to.part ?? null];
  return JSON.stringify([...whose, signal ?? null]);
}

/** What the reports of one study have in common. */
function studyOf({ to }: Report): string {
  return "pull" in to ? to.pull.slice(0, to.pull.lastIndexOf("-")) : `!${to.study}`;
}

/**
 * Reports that wait for the service, oldest first, bounded and without doubles, and their sending.
 *
 * Nothing but an answer about the very report is final. One that says "try again" leaves it in its
 * place, and lets its study rest while the others' reports go on.
 */
export class Outbox {
  nDropped = 0;
  nRefused = 0;
  readonly #size: number;
  readonly #send: (call: Call) => Promise<Answer | Failed>;
  readonly #log: Log;
  readonly #waiting = new Map<string, Report>();
  readonly #resting = new Map<string, number>(); // studies, and how long they want to be left alone
  readonly #backoff = new Backoff(0.5, 30);
  readonly #troubles = { failed: new Trouble(), refused: new Trouble(), dropped: new Trouble() };
  #underWay: ReadonlySet<string> = new Set();
  #limit = MOST_REWARDS;
  #failingSince: number | undefined;
  #lastRefusal = "";
  #isSending = false;
  #isClosed = false;
  #nHurrying = 0;
  #wake: (() => void) | undefined; // ends the pause that is being made
  readonly #emptied = new Set<() => void>(); // those who wait until nothing waits

  constructor(size: number, send: (call: Call) => Promise<Answer | Failed>, log: Log) {
    this.#size = size;
    this.#send = send;
    this.#log = log;
  }

  get nWaiting(): number {
    return this.#waiting.size;
  }

  /** Whether this very report waits already; throws when another value does. */
  holds(report: Report): boolean {
    const known = this.#waiting.get(idOf(report));
    if (known === undefined) return false;
    if (known.value !== report.value) throw conflict(report, known.value);
    return true;
  }

  /** Keep a report and send it in the background; the first value of each counts. */
  put(report: Report): void {
    if (this.#isClosed) throw closed(`${inWords(report)} is neither delivered nor kept`);
    if (this.holds(report)) return;
    this.#waiting.set(idOf(report), report);
    this.#dropSurplus();
    void this.#sendAll();
  }

  /** Wait until nothing waits to be sent, for so long at most; true when that is so. */
  async flush(timeoutS: number): Promise<boolean> {
    if (this.#waiting.size > 0 && timeoutS > 0) {
      this.#nHurrying += 1;
      this.#wake?.();
      void this.#sendAll();
      await new Promise<void>((resolve) => {
        const end = (): void => {
          cancel();
          this.#emptied.delete(end);
          resolve();
        };
        const cancel = after(timeoutS, end);
        this.#emptied.add(end);
      });
      this.#nHurrying -= 1;
    }
    return this.#waiting.size === 0;
  }

  /** Take no more, and give up what waits. */
  close(): void {
    this.#isClosed = true;
    const count = this.#waiting.size;
    this.nDropped += count;
    this.#waiting.clear();
    this.#settled();
    this.#wake?.();
    this.#sayRefused(this.#troubles.refused.rest());
    this.#sayDropped(this.#troubles.dropped.rest());
    if (count > 0) this.#log("warn", `${count} rewards could not be delivered and are lost`);
  }

  #dropSurplus(): void {
    // Not what is under way: it may well arrive, and would be counted as dropped.
    if (this.#waiting.size - this.#underWay.size <= this.#size) return;
    for (const id of this.#waiting.keys()) {
      if (!this.#underWay.has(id)) {
        this.#waiting.delete(id);
        this.nDropped += 1;
        this.#sayDropped(this.#troubles.dropped.add(1));
        return;
      }
    }
  }

  async #sendAll(): Promise<void> {
    if (this.#isSending) return;
    this.#isSending = true;
    await Promise.resolve(); // so that what is told in one go travels together
    while (this.#waiting.size > 0) {
      let pauseS: number;
      try {
        pauseS = await this.#sendBatch();
      } catch (error) {
        // Whatever it is, what waits is not given up.
        this.#failed(String(error));
        pauseS = this.#pause();
      }
      if (pauseS > 0 && this.#waiting.size > 0) await this.#rest(pauseS);
    }
    this.#isSending = false;
    this.#settled();
  }

  #rest(seconds: number): Promise<void> {
    // Node need not live on for what waits: its end is announced, and then it is flushed.
    const pauseS = this.#nHurrying > 0 ? Math.min(seconds, HURRY_S) : seconds;
    return new Promise((resolve) => {
      const end = (): void => {
        cancel();
        this.#wake = undefined;
        resolve();
      };
      const cancel = after(pauseS, end, this.#nHurrying === 0);
      this.#wake = end;
    });
  }

  /** Send the oldest; the seconds until the next batch. */
  async #sendBatch(): Promise<number> {
    const batch: Report[] = [];
    for (const report of this.#waiting.values()) {
      if (batch.length === this.#limit) break;
      if (!this.#resting.has(studyOf(report))) batch.push(report);
    }
    if (batch.length === 0) {
      const wantedS = Math.max(0, ...this.#resting.values());
      this.#resting.clear();
      return this.#pause(wantedS);
    }
    this.#underWay = new Set(batch.map(idOf));
    const call = rewardsCall(batch);
    const reply = await this.#send(call);
    this.#underWay = new Set();
    if ("failure" in reply) {
      this.#failed(reply.failure);
      return this.#pause();
    }
    let results: (ImaboError | undefined)[];
    try {
      results = read(call, reply, resultsOf(batch));
    } catch (error) {
      if (!(error instanceof ImaboError)) throw error;
      const isAboutContent = BLAMED_ON_CONTENT.includes(reply.status);
      if (isAboutContent && batch.length > 1) {
        this.#limit = Math.floor(batch.length / 2);
        return 0;
      }
      if (!isAboutContent || error.isUnavailable) {
        this.#failed(error.message);
        return this.#pause(reply.retryAfterS);
      }
      results = [error];
    }
    this.#settle(batch, results, reply.retryAfterS);
    return 0;
  }

  #settle(
    batch: readonly Report[],
    results: readonly (ImaboError | undefined)[],
    wantedS: number,
  ): void {
    let later: ImaboError | undefined;
    let nDone = 0;
    batch.forEach((report, place) => {
      const error = results[place];
      if (error?.isUnavailable === true) {
        later ??= error;
        this.#resting.set(studyOf(report), wantedS);
        return;
      }
      this.#waiting.delete(idOf(report));
      nDone += 1;
      if (error !== undefined) {
        this.nRefused += 1;
        this.#lastRefusal = `the last was that of ${inWords(report)}: ${error.message}`;
        this.#sayRefused(this.#troubles.refused.add(1));
      }
    });
    if (nDone > 0) {
      this.#backoff.reset();
      this.#limit = Math.min(2 * this.#limit, MOST_REWARDS);
    }
    if (later !== undefined) this.#failed(later.message);
    else if (this.#waiting.size === 0 && this.#failingSince !== undefined) {
      const seconds = (now() - this.#failingSince).toFixed(0);
      this.#failingSince = undefined;
      this.#log("info", `the service took all rewards that waited, after ${seconds} s`);
    }
  }

  #settled(): void {
    for (const end of [...this.#emptied]) end();
  }

  #pause(wantedS = 0): number {
    return Math.max(this.#backoff.pause(), Math.min(wantedS, LONGEST_WAIT_S));
  }

  #failed(why: string): void {
    this.#failingSince ??= now();
    if (this.#troubles.failed.add(1) > 0) {
      const seconds = (now() - this.#failingSince).toFixed(0);
      const count = this.#waiting.size;
      this.#log(
        "warn",
        `${count} rewards wait for the service, which has not taken them for ${seconds} s: ${why}`,
      );
    }
  }

  #sayRefused(count: number): void {
    if (count > 0) this.#log("warn", `${count} rewards were refused; ${this.#lastRefusal}`);
  }

  #sayDropped(count: number): void {
    if (count > 0) {
      this.#log("warn", `the outbox is full; ${count} rewards were dropped, the oldest first`);
    }
  }
}

function conflict(report: Report, known: number): ImaboError {
  return new ImaboError(
    report.signal === undefined ? "reward_conflict" : "signal_conflict",
    `the value of ${inWords(report)} is ${report.value} now`,
    `${known} was told before and waits to be sent`,
    "report each pull once",
  );
}

/** What is asked of a client that was closed. */
export function closed(what: string): ImaboError {
  return new ImaboError("store_closed", what, "the client is closed", "make another Client");
}
