import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

import { Client, type ClientOptions } from "../src/index.js";

// The environment that imabo is installed in; tests/typescript gives it.
const OURS = new URL("../../../.venv/bin/python", import.meta.url).pathname;
const PYTHON = process.env.IMABO_PYTHON ?? (existsSync(OURS) ? OURS : "python3");

/** A real `imabo serve` on a SQLite file; it may be killed and started again at its address. */
export class Serving {
  readonly folder = mkdtempSync(join(process.env.IMABO_TEST_FOLDER ?? tmpdir(), "imabo-"));
  url = "";
  #process: ChildProcess | undefined;

  static async start(): Promise<Serving> {
    const serving = new Serving();
    await serving.start();
    return serving;
  }

  async start(): Promise<void> {
    const port = this.url === "" ? "0" : new URL(this.url).port;
    const store = `sqlite:///${join(this.folder, "imabo.db")}`;
    const command = [
      "-m",
      "imabo.cli",
      "serve",
      `--store=${store}`,
      `--port=${port}`,
      "--no-proposals",
    ];
    this.#process = spawn(PYTHON, command, { stdio: ["ignore", "pipe", "inherit"] });
    for await (const line of createInterface({ input: this.#process.stdout! })) {
      this.url = line.replace("imabo serves ", "").trim();
      return;
    }
    throw new Error("imabo serve ended before it served");
  }

  async stop(signal: NodeJS.Signals = "SIGKILL"): Promise<void> {
    const running = this.#process;
    this.#process = undefined;
    if (running !== undefined && running.exitCode === null) {
      const ended = once(running, "exit");
      running.kill(signal);
      await ended;
    }
  }

  async end(): Promise<void> {
    await this.stop();
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** What a client said in its log. */
export const said: string[] = [];

/** A client that says nothing on the console and is quick to try again. */
export function quiet(url: string, options: ClientOptions = {}): Client {
  return new Client(url, { log: (_, text) => said.push(text), ...options });
}

let nNames = 0;
/** A name for a study of the test's own. */
export function fresh(): string {
  nNames += 1;
  return `study-${nNames}-${process.pid}`;
}

/** Wait until it is so. */
export async function until(check: () => boolean | Promise<boolean>, seconds = 60): Promise<void> {
  const endsAt = Date.now() + 1000 * seconds;
  while (!(await check())) {
    if (Date.now() > endsAt) throw new Error(`not within ${seconds} s: ${check}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
