import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { promisify } from "node:util";
import { afterAll, describe, expect, inject, test } from "vitest";

import { choice } from "../src/index.js";
import { Proxy } from "./proxy.js";
import { fresh, quiet, until } from "./serving.js";

// The package as others import it: compiled, by its name. `npm run build` comes first.
const FOLDER = new URL("../dist/", import.meta.url);
const README = readFileSync(new URL("../README.md", import.meta.url), "utf8");
const url = inject("url");
const client = quiet(url);
const written: URL[] = [];

afterAll(async () => {
  for (const file of written) rmSync(file, { force: true });
  await client.close();
});

/** Write a program within the package, so that it may import itself by its name. */
function programOf(text: string): string {
  const file = new URL(`program-${fresh()}.ts`, FOLDER); // Node strips the types
  written.push(file);
  writeFileSync(file, text);
  return file.pathname;
}

/** Run a program in a process of its own; what it prints. */
async function run(text: string): Promise<{ out: string; errors: string }> {
  const program = [programOf(text)];
  const { stdout, stderr } = await promisify(execFile)(process.execPath, program, {
    timeout: 25_000,
  });
  return { out: stdout, errors: stderr };
}

describe("the README", () => {
  const blocks = [...README.matchAll(/^```ts\n(.*?)^```/gms)].map(([, text]) => text!);

  test("has ten lines that run, and a provider", async () => {
    const [first, second] = blocks;
    expect(blocks.length).toBe(2);
    expect(first!.split("\n").filter((line) => line !== "").length).toBeLessThanOrEqual(10);
    const study = fresh();
    const ours = (text: string): string =>
      text
        .replaceAll("http://127.0.0.1:8766", url)
        .replaceAll("support-answers", study)
        .replaceAll("deadlineS: 0.2", "deadlineS: 20"); // a busy machine is no fault
    const one = await run(ours(first!));
    expect(one.errors).toBe("");
    expect(one.out).toMatch(/^(small|large) (?!default)\w+\n$/);
    const two = await run(ours(second!));
    expect(two.errors).toBe("");
    expect(two.out).toMatch(/^(small|large) \{ model: '\1', temperature: .+ \}\n$/);
    const facts = await client.study(study).facts();
    expect([facts.n_pulls, facts.n_rewards]).toEqual([2, 2]);
  });
});

describe("the end of a program", () => {
  const begin = (address: string, flushS: number, more: string): string => `
    import { Client, choice } from "imabo-client";
    const client = new Client("${address}", { timeoutS: 10, retries: 0, flushS: ${flushS} });
    ${more}`;

  test("sends what waits, without a close", async () => {
    const study = await client.create(fresh(), { model: choice(["small", "large"]) });
    const pulls = await study.askMany(3);
    const told = pulls.map(({ id }) => `void study.tell("${id}", 1, { wait: false });`);
    await run(begin(url, 10, `const study = client.study("${study.name}"); ${told.join("\n")}`));
    expect((await study.facts()).n_rewards).toBe(3);
  });

  test.each([
    ["sends what waits, and dies of it", "", null, "SIGTERM", 1],
    [
      "is the program's own, where it has a handler",
      "process.on('SIGTERM', () => process.exit(7));",
      7,
      null,
      0,
    ],
  ])("by SIGTERM %s", async (_, handler, status, signal, nRewards) => {
    const proxy = await Proxy.start(url);
    proxy.fault = () => ({ status: 503 });
    const study = await client.create(fresh(), { model: choice(["small", "large"]) });
    const told = `void client.study("${study.name}").tell("${
      (await study.ask()).id
    }", 1, { wait: false });`;
    const program = programOf(
      begin(proxy.url, 10, `${told} ${handler} setInterval(() => undefined, 1000);`),
    );
    const running = spawn(process.execPath, [program], { stdio: "ignore" });
    const ended = once(running, "exit");
    await until(() => proxy.seen.length > 0);
    proxy.fault = () => "pass";
    running.kill("SIGTERM");
    expect(await ended).toEqual([status, signal]);
    expect((await study.facts()).n_rewards).toBe(nRewards);
    await proxy.end();
  });

  test("waits for no answer that nobody wants any more", async () => {
    const server = createServer(() => undefined).listen(0, "127.0.0.1"); // never answers
    await once(server, "listening");
    const away = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const told =
      `await client.study("s").tell("token-1", 1, { wait: false }); await client.close();`;
    const { errors } = await run(begin(away, 0.1, told).replace("timeoutS: 10", "timeoutS: 600"));
    server.closeAllConnections();
    server.close();
    expect(errors).toMatch(/1 rewards could not be delivered and are lost/);
  });

  test("waits no longer than it may for a service that is away, and says what is lost", async () => {
    const server = createServer((_, response) => response.writeHead(503).end()).listen(
      0,
      "127.0.0.1",
    );
    await once(server, "listening");
    const away = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const { errors } = await run(begin(away, 0.5, `await client.study("s").tell("token-1", 1);`));
    server.closeAllConnections();
    server.close();
    expect(errors).toMatch(/1 rewards wait for the service/);
    expect(errors).toMatch(/1 rewards could not be delivered and are lost/);
  });
});
