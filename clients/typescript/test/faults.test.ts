import { afterEach, beforeEach, describe, expect, inject, test } from "vitest";

import {
  choice,
  type Client,
  type ClientOptions,
  float,
  type ImaboError,
  type Study,
} from "../src/index.js";
import { type Fault, Proxy } from "./proxy.js";
import { fresh, quiet, said, Serving, until } from "./serving.js";

const SPACE = { model: choice(["small", "large"]), temperature: float(0, 1) };
const SAFE = { model: "small", temperature: 0.2 } as const;
// One attempt, and no wait at the end; it is patient, so that a busy machine is no fault.
const ONCE: ClientOptions = { timeoutS: 10, retries: 0, flushS: 0 };

const url = inject("url");
let proxy: Proxy;
let clients: Client[] = [];

beforeEach(async () => {
  proxy = await Proxy.start(url);
});
afterEach(async () => {
  await Promise.all(clients.map((client) => client.close()));
  clients = [];
  await proxy.end();
});

/** A client of the proxy, and a study of the test's own that is there already. */
async function begun(options: ClientOptions = {}) {
  const client = quiet(proxy.url, options);
  clients.push(client);
  const study = await client.create(fresh(), SPACE);
  return { client, study };
}

/** Fail for a while: as each of these says, and then no more. */
function failing(...faults: Fault[]): void {
  proxy.fault = () => faults.shift() ?? "pass";
}

/** The rewards that the service has, by the id of the pull; it refuses to have two of one. */
async function recorded(study: Study<never>, at = url): Promise<Map<string, number | null>> {
  const client = quiet(at);
  const found = await client.request("get", "/v1/studies/{study}/pulls", {
    path: { study: study.name },
    query: { limit: 1000 },
  });
  await client.close();
  return new Map(found.pulls.map(({ id, reward }) => [id, reward]));
}

/** The pulls that each batch which came by has named, in their order. */
function sent(): string[][] {
  const batches = proxy.seen.filter(({ path }) => path === "/v1/rewards");
  return batches.map(({ body }) =>
    (JSON.parse(body) as { rewards: { pull: string }[] }).rewards.map(({ pull }) => pull)
  );
}

const away = { code: "unavailable" } satisfies Partial<ImaboError>;

describe("a service that fails", () => {
  test("is tried again, and an ask whose answer got lost is the same ask", async () => {
    const { client, study } = await begun({ timeoutS: 10 });
    failing("lose", "cut", { status: 503 }, "pass");
    const pull = await study.ask();
    expect((await study.facts()).n_pulls).toBe(1);
    failing("lose", { status: 502 }, "shift");
    await study.tell(pull.id, 1);
    expect([client.nWaiting, (await study.facts()).n_rewards]).toEqual([0, 1]);
  });

  test("says when to come back", async () => {
    const { study } = await begun({ timeoutS: 10 });
    failing({ status: 429, retryAfter: "1" });
    const begin = performance.now();
    await study.ask();
    expect(performance.now() - begin).toBeGreaterThan(990);
    failing({ status: 503, retryAfter: "3600" });
    await expect(study.ask()).rejects.toMatchObject(away);
  });

  test.each<Fault>(["hang", "lose", "cut", "shift", "garbage", { status: 500 }, { status: 404 }])(
    "never keeps a caller with a default: %o",
    async (fault) => {
      const { study } = await begun(ONCE);
      proxy.fault = () => fault;
      const begin = performance.now();
      const pull = await study.ask({ default: SAFE, deadlineS: 0.2, key: "mine" });
      expect(performance.now() - begin).toBeLessThan(9500); // and not 10 s
      expect([pull.reason, pull.arm, pull.config]).toEqual(["default", 0, SAFE]);
      await expect(study.ask({ deadlineS: 0.1 })).rejects.toMatchObject(away);
      // Its reward is dropped, by its id and by its key, though the service may know the key.
      proxy.fault = () => "pass";
      await study.tell(pull.id, 1);
      await study.tell({ key: "mine" }, 1);
      expect((await study.facts()).n_rewards).toBe(0);
    },
  );

  test("takes no longer to be told than its timeout: the reward is kept", async () => {
    const { study } = await begun(ONCE);
    const { id } = await study.ask();
    const hasty = quiet(proxy.url, { timeoutS: 0.2, retries: 3, flushS: 0 });
    clients.push(hasty);
    proxy.fault = () => "hang";
    const begin = performance.now();
    await hasty.study(study.name).tell(id, 1);
    expect(performance.now() - begin).toBeLessThan(20_000);
    expect(hasty.nWaiting).toBe(1);
    proxy.fault = () => "pass";
    await hasty.flush(60);
    expect((await study.facts()).n_rewards).toBe(1);
  });

  test("is left alone after five failures, and then tried again", async () => {
    const { client, study } = await begun(ONCE);
    const pull = await study.ask();
    proxy.fault = () => ({ status: 500 });
    for (let n = 0; n < 5; n += 1) await study.ask({ default: SAFE });
    const before = proxy.seen.length;
    for (let n = 0; n < 100; n += 1) await study.ask({ default: SAFE });
    // A machine that stood still for longer than a pause makes it try again, now and then.
    expect(proxy.seen.length - before).toBeLessThan(10);
    proxy.fault = () => "pass";
    await study.tell(pull.id, 1); // goes to the outbox at once
    await until(async () => (await study.ask({ default: SAFE })).reason !== "default");
    await client.flush(60);
    expect((await study.facts()).n_rewards).toBe(1);
  });
});

describe("the outbox", () => {
  test("sends in order, and nothing is lost or doubled, whatever fails", async () => {
    const { client, study } = await begun(ONCE);
    const pulls = await study.askMany(30);
    failing({ status: 503 }, { status: 503, retryAfter: "0" }, "lose", "garbage", "cut", "shift", {
      status: 401,
    });
    for (const [place, { id }] of pulls.entries()) {
      await study.tell(id, place / 30, { wait: false });
    }
    expect(client.nWaiting).toBe(30);
    expect(await client.flush(60)).toBe(true);
    const ids = pulls.map(({ id }) => id);
    // Each attempt begins with the oldest again; the first may have gone before all were told.
    const batches = sent();
    expect(batches.length).toBeGreaterThanOrEqual(8);
    for (const batch of batches) expect(batch).toEqual(ids.slice(0, batch.length));
    const expected = new Map(pulls.map(({ id }, place) => [id, place / 30]));
    expect(await recorded(study as Study<never>)).toEqual(expected);
    expect([client.nDropped, client.nRefused]).toEqual([0, 0]);
  });

  test("keeps in its place what the service asks to send again, and others go on", async () => {
    const { client, study } = await begun(ONCE);
    const other = await client.create(fresh(), SPACE);
    const [mine, theirs] = [await study.askMany(2), await other.askMany(2)];
    const problem = { code: "store_error", status: 503, what: "w", why: "y", fix: "f" };
    let isBroken = true;
    proxy.fault = (_, path) => {
      if (path !== "/v1/rewards" || !isBroken) return "pass";
      // As from a service whose database fails for one study. Here it took them all the same, so
      // that this is about sending them twice as well.
      return {
        rewrite: (text) => {
          const { results } = JSON.parse(text) as { results: { pull: string }[] };
          const first = mine.map(({ id }) => id);
          return JSON.stringify({
            results: results.map((one) =>
              first.includes(one.pull) ? { ...one, status: "refused", problem } : one
            ),
          });
        },
      };
    };
    for (const place of [0, 1]) {
      await study.tell(mine[place]!.id, 1, { wait: false });
      await other.tell(theirs[place]!.id, 1, { wait: false });
    }
    await until(() => client.nWaiting === 2);
    expect((await other.facts()).n_rewards).toBe(2);
    isBroken = false;
    expect(await client.flush(60)).toBe(true);
    expect(sent().at(-1)).toEqual(mine.map(({ id }) => id));
    expect([client.nRefused, (await study.facts()).n_rewards]).toEqual([0, 2]);
  });

  test("finds the one reward that a batch is refused for", async () => {
    const { client, study } = await begun();
    const pulls = await study.askMany(9, { key: "batch" });
    for (const part of [0, 1, 2, 99_999, 3, 4, 5, 6, 7, 8]) {
      await study.tell({ key: "batch", part }, 1, { wait: false });
    }
    expect(await client.flush(60)).toBe(true);
    expect([client.nRefused, client.nDropped]).toEqual([1, 0]);
    expect([...(await recorded(study as Study<never>)).values()]).toEqual(pulls.map(() => 1));
    expect(said.some((text) => text.includes("part 99999, of study"))).toBe(true);
  });

  test("is bounded: the oldest are dropped, counted and told of", async () => {
    const { client, study } = await begun({ ...ONCE, outboxSize: 3 });
    const pulls = await study.askMany(5);
    proxy.fault = () => ({ status: 503 });
    for (const { id } of pulls) await study.tell(id, 1);
    expect([client.nWaiting, client.nDropped]).toEqual([3, 2]);
    proxy.fault = () => "pass";
    expect(await client.flush(60)).toBe(true);
    const told = [...(await recorded(study as Study<never>)).entries()].filter(([, one]) =>
      one !== null
    );
    expect(told.map(([id]) => id)).toEqual(pulls.slice(2).map(({ id }) => id));
    expect(said.at(-1)).toMatch(/took all rewards|dropped/);
  });

  test("refuses a second value of what waits, and takes the same again", async () => {
    const { client, study } = await begun(ONCE);
    const { id } = await study.ask();
    proxy.fault = () => ({ status: 503 });
    await study.tell(id, 1, { signals: { cost: 2 }, wait: false });
    await study.tell(id, 1);
    await expect(study.tell(id, 0)).rejects.toMatchObject({ code: "reward_conflict" });
    await expect(study.signal(id, "cost", 3)).rejects.toMatchObject({ code: "signal_conflict" });
    expect(await study.tellMany([{ pull: id, reward: 1 }])).toEqual([undefined]);
    expect(client.nWaiting).toBe(2);
    expect(await client.flush(0.2)).toBe(false);
    await client.close();
    expect(client.nDropped).toBe(2);
    expect(said).toContain("2 rewards could not be delivered and are lost");
  });
});

test(
  "a service that is killed and started again has each reward once",
  { timeout: 120_000 },
  async ({ onTestFinished }) => {
    const serving = await Serving.start();
    onTestFinished(() => serving.end());
    const client = quiet(serving.url, { timeoutS: 5, retries: 1 });
    clients.push(client);
    const study = await client.create(fresh(), SPACE);
    const told = new Map<string, number>();
    const tell = async (): Promise<void> => {
      const [pull] = await study.askMany(1, { default: SAFE, deadlineS: 1 });
      if (pull!.reason === "default") return;
      told.set(pull!.id, told.size / 1000);
      await study.tell(pull!.id, told.get(pull!.id)!);
    };
    for (let n = 0; n < 20; n += 1) await tell();
    const early = await study.askMany(50);
    const killed = serving.stop("SIGKILL"); // while this is under way
    const under = early.map(async ({ id }, place) => {
      told.set(id, place / 100);
      await study.tell(id, place / 100);
    });
    await killed;
    await Promise.all(under);
    expect(client.nWaiting).toBeGreaterThan(0);
    for (let n = 0; n < 20; n += 1) await tell(); // nobody is there: defaults
    await serving.start();
    expect(await client.flush(60)).toBe(true);
    await until(async () => (await study.ask({ default: SAFE })).reason !== "default");
    for (let n = 0; n < 5; n += 1) await tell();
    expect(await client.flush(60)).toBe(true);
    const found = [...(await recorded(study as Study<never>, serving.url))].filter(([, reward]) =>
      reward !== null
    );
    expect(new Map(found)).toEqual(told);
    expect([client.nDropped, client.nRefused]).toEqual([0, 0]);
  },
);
