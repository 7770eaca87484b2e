/** What has to be sent before the program ends. */
interface Ending {
  readonly outbox: { readonly nWaiting: number };
  readonly flushS: number;
  readonly handleSigterm: boolean;
  close(flushS: number): Promise<void>;
}

/** What is used of Node's `process`, where there is one. */
interface Process {
  readonly pid: number;
  on(event: "beforeExit", listener: () => void): void;
  once(event: "SIGTERM", listener: () => void): void;
  listenerCount(event: "SIGTERM"): number;
  kill(pid: number, signal: "SIGTERM"): void;
}

const ending = new Set<Ending>();
let isWatchingEnd = false;
let isWatchingSigterm = false;

/**
 * Send what waits there when Node has nothing else to do, and on SIGTERM.
 *
 * Browsers have no such moments, and Node has none after `process.exit()` or another signal.
 */
export function flushAtEnd(session: Ending): void {
  ending.add(session);
  const { process } = globalThis as { process?: Process };
  if (typeof process?.listenerCount !== "function") return;
  if (!isWatchingEnd) {
    isWatchingEnd = true;
    process.on("beforeExit", () => void closeAll());
  }
  // A handler that is there is the program's own, which may go on for a while.
  if (session.handleSigterm && !isWatchingSigterm && process.listenerCount("SIGTERM") === 0) {
    isWatchingSigterm = true;
    process.once("SIGTERM", () => {
      isWatchingSigterm = false;
      // So is one that came later. Otherwise the end is as without us, and a second one at once.
      if (process.listenerCount("SIGTERM") > 0) return;
      void closeAll().then(() => process.kill(process.pid, "SIGTERM"));
    });
  }
}

/** It was closed. */
export function forgetAtEnd(session: Ending): void {
  ending.delete(session);
}

async function closeAll(): Promise<void> {
  const waiting = [...ending].filter(({ outbox }) => outbox.nWaiting > 0);
  ending.clear();
  await Promise.all(waiting.map((session) => session.close(session.flushS)));
}
