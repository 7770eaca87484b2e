import { type ImaboError } from "./errors.js";
import { attempt, type Call, deliver, read, type Target } from "./http.js";
import { flushAtEnd, forgetAtEnd } from "./lifetime.js";
import { closed, type Log, Outbox, type Report } from "./outbox.js";
import { Breaker, now, Trouble } from "./pauses.js";

const MOST_KEYS = 100_000; // of asks that were answered with a default; the oldest are forgotten

/** What the studies of one client share: the way to the service, the breaker, the outbox. */
export class Session {
  readonly service: Target;
  readonly outbox: Outbox;
  readonly breaker: Breaker;
  readonly flushS: number;
  readonly handleSigterm: boolean;
  readonly log: Log;
  /** Whose pulls have ids that start so. A study that was made again has another token. */
  readonly tokens = new Map<string, string>();
  readonly #defaultKeys = new Set<string>();
  readonly #defaults = new Trouble();
  readonly #dropped = new Trouble();
  readonly #end = new AbortController();
  #isClosed = false;

  constructor(
    service: Target,
    outboxSize: number,
    ending: { flushS: number; handleSigterm: boolean },
    log: Log,
  ) {
    this.flushS = ending.flushS;
    this.handleSigterm = ending.handleSigterm;
    this.service = service;
    this.log = log;
    const send = (call: Call) => attempt(service, call, service.timeoutS, this.#end.signal);
    this.outbox = new Outbox(outboxSize, send, log);
    this.breaker = new Breaker((text) => log("warn", text));
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  checkOpen(): void {
    if (this.#isClosed) throw closed(`the client of ${this.service.url} was called`);
  }

  /** Make a call and read its answer. */
  async call<T>(
    call: Call,
    decode: (document: unknown) => T,
    deadline?: number,
    signal?: AbortSignal,
  ): Promise<T> {
    this.checkOpen();
    return read(call, await deliver(this.service, call, deadline, signal), decode);
  }

  /** Send reports in the background. */
  keep(reports: readonly Report[]): void {
    for (const report of reports) this.outbox.put(report);
    flushAtEnd(this);
  }

  /** Send what waits, for so long at most, and take no more. */
  async close(flushS: number): Promise<void> {
    if (this.#isClosed) return;
    const endsAt = now() + flushS;
    await this.outbox.flush(flushS);
    this.#isClosed = true;
    await this.outbox.flush(endsAt - now()); // what was told while the last of it was under way
    this.outbox.close();
    this.#end.abort(); // what nobody waits for any more would keep Node alive
    forgetAtEnd(this);
  }

  // --- what was answered with a default ----------------------------------------------------------

  /** Say in the log, once in a while, that a default is served. */
  servesDefault(study: string, error: ImaboError): void {
    if (this.#defaults.add(1) > 0) {
      this.log("warn", `study '${study}' serves the default: ${error.message}`);
    }
  }

  /** Remember that a key stands for the default, so that its rewards go to no arm. */
  addDefaultKey(study: string, key: string): void {
    // The ask may have reached the service, and only the answer came too late: there the key is
    // one of an arm, which nobody was served with.
    const id = JSON.stringify([study, key]);
    this.#defaultKeys.delete(id);
    this.#defaultKeys.add(id);
    if (this.#defaultKeys.size > MOST_KEYS) {
      const [oldest] = this.#defaultKeys;
      if (oldest !== undefined) this.#defaultKeys.delete(oldest);
    }
  }

  /** The study answered an ask with this key. */
  discardDefaultKey(study: string, key: string): void {
    this.#defaultKeys.delete(JSON.stringify([study, key]));
  }

  /** Whether the reward of a key belongs to a default; if so, the log says what became of it. */
  drops(study: string, key: string): boolean {
    if (!this.#defaultKeys.has(JSON.stringify([study, key]))) return false;
    const count = this.#dropped.add(1);
    if (count > 0) {
      this.log(
        "warn",
        `${count} rewards were dropped; the last was that of key '${key}' of study '${study}': its ` +
          "ask was answered with the default, so no arm is to be credited",
      );
    }
    return true;
  }
}
