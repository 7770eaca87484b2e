/** Pauses that double, each shortened by a random part, so that clients do not march in step. */
export class Backoff {
  readonly #firstS: number;
  readonly #longestS: number;
  readonly #jitter: () => number;
  #nextS: number;

  constructor(firstS: number, longestS: number, jitter: () => number = Math.random) {
    this.#firstS = this.#nextS = firstS;
    this.#longestS = longestS;
    this.#jitter = jitter;
  }

  /** How long to wait now, in seconds; the next pause is longer. */
  pause(): number {
    const whole = this.#nextS;
    this.#nextS = Math.min(2 * whole, this.#longestS);
    return whole * (0.5 + 0.5 * this.#jitter());
  }

  /** It works again: start over with short pauses. */
  reset(): void {
    this.#nextS = this.#firstS;
  }
}

const THRESHOLD = 5; // failures in a row after which the service is left alone
const FIRST_S = 1;
const LONGEST_S = 30;

/**
 * Says whether to try at all; several failures in a row begin a pause, which grows.
 *
 * After a pause one caller may try; when that fails too, the next pause is longer.
 */
export class Breaker {
  readonly #clock: () => number;
  readonly #backoff: Backoff;
  readonly #say: (text: string) => void;
  #nFailures = 0;
  #closedUntil = 0;
  #isTrial = false;

  constructor(say: (text: string) => void, clock: () => number = now, jitter?: () => number) {
    this.#say = say;
    this.#clock = clock;
    this.#backoff = new Backoff(FIRST_S, LONGEST_S, jitter);
  }

  /** Whether the service may be tried now. */
  admits(): boolean {
    if (this.#nFailures < THRESHOLD) return true;
    if (this.#clock() < this.#closedUntil) return false;
    // A trial that never reports back must not shut the service out for ever.
    this.#closedUntil = this.#clock() + LONGEST_S;
    this.#isTrial = true;
    return true;
  }

  /** What came of an attempt. */
  record(gotThrough: boolean): void {
    if (gotThrough) {
      this.#nFailures = 0;
      this.#isTrial = false;
      this.#backoff.reset();
      return;
    }
    this.#nFailures += 1;
    // Others that were under way when the pause began must not make it longer.
    if (this.#nFailures === THRESHOLD || this.#isTrial) {
      const pause = this.#backoff.pause();
      this.#closedUntil = this.#clock() + pause;
      this.#isTrial = false;
      // Said once: that it goes on is no news.
      if (this.#nFailures === THRESHOLD) {
        this.#say(`the service does not answer; it is left alone for ${pause.toFixed(1)} s`);
      }
    }
  }
}

const EVERY_S = 60;

/** One kind of trouble: how often it came, and whether it is time to speak of it again. */
export class Trouble {
  #nUntold = 0;
  #toldAt = -Infinity;

  /** Count more of it; how many to speak of now, 0 when the last message is not long ago. */
  add(count: number): number {
    this.#nUntold += count;
    return now() - this.#toldAt < EVERY_S ? 0 : this.#tell();
  }

  /** How many were not spoken of yet, at the end. */
  rest(): number {
    return this.#nUntold === 0 ? 0 : this.#tell();
  }

  #tell(): number {
    const count = this.#nUntold;
    this.#nUntold = 0;
    this.#toldAt = now();
    return count;
  }
}

/** Seconds of a clock that only moves on. */
export function now(): number {
  return performance.now() / 1000;
}

const LONGEST_TIMER_S = 86_400;

/** Call later; returns what calls it off. With `isIdle`, Node need not live on for it. */
export function after(seconds: number, call: () => void, isIdle = false): () => void {
  // The types of a timer differ between Node and browsers, and so may the globals' here.
  const timer: unknown = setTimeout(call, 1000 * Math.min(Math.max(seconds, 0), LONGEST_TIMER_S));
  if (isIdle && timer !== null && typeof timer === "object" && "unref" in timer) {
    (timer as { unref: () => void }).unref();
  }
  return () => clearTimeout(timer as ReturnType<typeof setTimeout>);
}

/** Wait so long, or until the signal says that nobody waits any more. */
export function sleep(seconds: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      cancel();
      signal?.removeEventListener("abort", end);
      resolve();
    };
    const cancel = after(seconds, end);
    signal?.addEventListener("abort", end);
    if (signal?.aborted === true) end();
  });
}
