/** What has to be sent before the program ends. */
interface Ending {
  readonly outbox: { readonly nWaiting: number };
  readonly flushS: number;
  close(flushS: number): Promise<void>;
}

interface Process {
  on(event: "beforeExit", listener: () => void): void;
}

const ending = new Set<Ending>();
let isWatching = false;

/**
 * Send what waits there when Node has nothing else to do.
 *
 * Browsers have no such moment, and Node has none after `process.exit()` or a signal.
 */
export function flushAtEnd(session: Ending): void {
  ending.add(session);
  const { process } = globalThis as { process?: Partial<Process> };
  if (!isWatching && typeof process?.on === "function") {
    isWatching = true;
    process.on("beforeExit", () => {
      for (const one of ending) {
        ending.delete(one);
        if (one.outbox.nWaiting > 0) void one.close(one.flushS);
      }
    });
  }
}

/** It was closed. */
export function forgetAtEnd(session: Ending): void {
  ending.delete(session);
}
