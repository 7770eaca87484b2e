import { afterAll, describe, expect, expectTypeOf, inject, test } from "vitest";

import { choice, Client, float, ImaboError, int } from "../src/index.js";
import { Breaker } from "../src/pauses.js";
import { fresh, quiet } from "./serving.js";

const SPACE = { model: choice(["small", "large"]), temperature: float(0, 1) };
const SAFE = { model: "small", temperature: 0.2 } as const;
const url = inject("url");
const client = quiet(url);

afterAll(() => client.close());

/** The code that a call is refused with. */
async function codeOf(refused: Promise<unknown>): Promise<string> {
  const error = await refused.then(
    () => undefined,
    (why: unknown) => why,
  );
  expect(error).toBeInstanceOf(ImaboError);
  return (error as ImaboError).code;
}

describe("the loop", () => {
  test("asks, tells, and knows the best", async () => {
    const study = await client.create(fresh(), SPACE, { seed: 0, oracle: { type: "Random" } });
    for (let n = 0; n < 20; n += 1) {
      const pull = await study.ask();
      await study.tell(pull.id, pull.config.model === "large" ? 1 : 0);
    }
    const facts = await study.facts();
    expect([facts.n_pulls, facts.n_rewards, facts.n_pending]).toEqual([20, 20, 0]);
    expect((await study.best()).config.model).toBe("large");
  });

  test("the configuration has the types of the space", async () => {
    const study = await client.create(fresh(), {
      ...SPACE,
      top_k: int(1, 5),
      thinking: int(1, 9, { log: true, when: { model: "large" } }),
    });
    const { config } = await study.ask();
    expectTypeOf(config.model).toEqualTypeOf<"small" | "large">();
    expectTypeOf(config.top_k).toEqualTypeOf<number>();
    expectTypeOf(config.thinking).toEqualTypeOf<number | undefined>();
    expect(config.thinking === undefined).toBe(config.model === "small");
  });

  test("the same declaration goes on, another one is refused", async () => {
    const name = fresh();
    await client.create(name, SPACE);
    await client.create(name, SPACE);
    expect(await codeOf(client.create(name, { model: choice(["small"]) }))).toBe("study_exists");
    expect(await client.studies()).toContain(name);
    expect((await client.open(name)).name).toBe(name);
    expect(await codeOf(client.open("nowhere"))).toBe("unknown_study");
    expect(await codeOf(client.study("nowhere").ask())).toBe("unknown_study");
  });

  test("names that a path could mistake", async () => {
    for (const name of ["a/b ?#%", "..", "größe"]) {
      const study = await client.create(`${name}${fresh()}`, SPACE);
      await study.tell((await study.ask()).id, 1);
      expect((await study.facts()).n_rewards).toBe(1);
    }
  });

  test("many at once, in calls of a thousand", async () => {
    const study = await client.create(fresh(), SPACE);
    const pulls = await study.askMany(1001);
    expect(new Set(pulls.map(({ id }) => id)).size).toBe(1001);
    const answers = await study.tellMany([
      ...pulls.map(({ id }) => ({ pull: id, reward: 1 })),
      { pull: pulls[0]!.id, reward: 0 },
      { pull: "nobody-1", reward: 1 },
      { pull: pulls[1]!.id, reward: Number.NaN },
    ]);
    const codes = answers.slice(1001).map((error) => error?.code);
    expect(answers.slice(0, 1001).every((error) => error === undefined)).toBe(true);
    expect(codes).toEqual(["reward_conflict", "unknown_pull", "invalid_reward"]);
    expect((await study.facts()).n_rewards).toBe(1001);
  });
});

describe("keys, contexts and signals", () => {
  test("a key names a request", async () => {
    const study = await client.create(fresh(), SPACE);
    const first = await study.ask({ key: "request-17", context: { user: 3 } });
    const again = await study.ask({ key: "request-17", context: { user: 3 } });
    expect(again.id).toBe(first.id);
    expect([first.key, first.context]).toEqual(["request-17", { user: 3 }]);
    await study.tell({ key: "request-17" }, 0.8);
    await study.tell(first, 0.8); // the same value again
    expect(await codeOf(study.tell(first.id, 0.7))).toBe("reward_conflict");
    expect(await codeOf(study.tell({ key: "request-18" }, 0.7))).toBe("unknown_key");
    expect((await study.facts()).n_rewards).toBe(1);
  });

  test("several pulls of a key are told apart by their part", async () => {
    const study = await client.create(fresh(), SPACE);
    const pulls = await study.askMany(2, { key: "both" });
    expect(await codeOf(study.tell({ key: "both" }, 1))).not.toBe("unavailable");
    await study.tell({ key: "both", part: 1 }, 1);
    const found = await client.request("get", "/v1/pulls/{pull}", { path: { pull: pulls[1]!.id } });
    expect(found.reward).toBe(1);
  });

  test("signals come with the reward or alone", async () => {
    const study = await client.create(fresh(), SPACE, { signals: { cost: {}, thumbs: {} } });
    const pull = await study.ask({ key: "k" });
    await study.tell(pull.id, true, { signals: { cost: 0.25 } });
    await study.signal({ key: "k" }, "thumbs", true);
    const found = await client.request("get", "/v1/pulls/{pull}", { path: { pull: pull.id } });
    expect([found.reward, found.signals]).toEqual([1, { cost: 0.25, thumbs: 1 }]);
    expect(await codeOf(study.signal(pull, "weight", 1))).toBe("invalid_signal");
    const told = await study.tellMany([{ pull: { key: "k" }, signals: { cost: 0.5 } }]);
    expect(told[0]?.code).toBe("signal_conflict");
  });

  test("any other operation, with its types", async () => {
    const study = await client.create(fresh(), SPACE);
    await study.ask();
    const { arms } = await client.request("get", "/v1/studies/{study}/arms", {
      path: { study: study.name },
    });
    expectTypeOf(arms[0]!.n_pending).toEqualTypeOf<number>();
    expect(arms.map(({ n_pending }) => n_pending)).toEqual([1]);
    const page = await client.request("get", "/v1/studies/{study}/pulls", {
      path: { study: study.name },
      query: { limit: 1 },
    });
    expect(page.pulls.length).toBe(1);
    await client.request("delete", "/v1/studies/{study}", { path: { study: study.name } });
    expect(await codeOf(study.ask())).toBe("unknown_study");
  });
});

describe("what is refused", () => {
  test("a reward outside of the range, before it is sent", async () => {
    const study = await client.create(fresh(), SPACE, { reward_range: [0, 5] });
    const pull = await study.ask();
    expect(await codeOf(study.tell(pull.id, 6))).toBe("invalid_reward");
    expect(await codeOf(study.tell(pull.id, "1" as never))).toBe("invalid_reward");
    await study.tell(pull.id, 5);
    // A client that does not know the range leaves it to the service.
    const other = await client.study(study.name).ask();
    expect(await codeOf(client.study(study.name).tell(other.id, 6))).toBe("invalid_reward");
  });

  test("the pull of another study", async () => {
    const [one, two] = [await client.create(fresh(), SPACE), await client.create(fresh(), SPACE)];
    const [pull] = [await one.ask(), await two.ask()];
    expect(await codeOf(two.tell(pull!.id, 1))).toBe("unknown_pull");
    expect(await codeOf(two.tell("no id", 1))).toBe("unknown_pull");
    await one.tell(pull!.id, 1);
  });

  test("a default that the space does not allow", async () => {
    const study = await client.create(
      fresh(),
      { ...SPACE, deep: int(1, 3, { when: { model: "large" } }) },
      { forbid: [{ model: "large", deep: [3] }] },
    );
    const bad: object[] = [
      { model: "smal", temperature: 0.2 },
      { model: "small", temperature: 2 },
      { model: "small" },
      { model: "small", temperature: 0.2, deep: 1 },
      { model: "large", temperature: 0.2 },
      { model: "large", temperature: 0.2, deep: 1.5 },
      { model: "large", temperature: 0.2, deep: 3 },
      { ...SAFE, size: 3 },
    ];
    for (const config of bad) {
      expect(await codeOf(study.ask({ default: config as never })), JSON.stringify(config)).toBe(
        "invalid_config",
      );
    }
    const good = { model: "large", temperature: 0.2, deep: 2 } as const;
    expect((await study.ask({ default: good })).reason).not.toBe("default");
    expect((await study.ask({ default: SAFE })).reason).not.toBe("default");
    expect(await codeOf(study.ask({ default: [] as never }))).toBe("invalid_setting");
    expect(await codeOf(study.ask({ deadlineS: Number.NaN }))).toBe("invalid_setting");
  });

  test("settings that cannot be", () => {
    const wrong: [string, object][] = [
      ["ftp://here", {}],
      ["http://user:secret@here", {}],
      ["nowhere", {}],
      [url, { timeoutS: 0 }],
      [url, { retries: 1.5 }],
      [url, { outboxSize: 0 }],
      [url, { key: "two\nlines" }],
    ];
    for (const [address, options] of wrong) {
      expect(() => new Client(address, options)).toThrow(/To fix it/);
    }
    expect(() => new Client(url, { key: "secret\n" })).not.toThrow(/secret/);
  });

  test("whatever is asked of a closed client", async () => {
    const other = quiet(url);
    const study = await other.create(fresh(), SPACE);
    const pull = await study.ask();
    await other.close();
    expect(await codeOf(study.ask())).toBe("store_closed");
    expect(await codeOf(study.tell(pull.id, 1))).toBe("store_closed");
    expect((await study.ask({ default: SAFE })).reason).toBe("default");
  });
});

test("the breaker lets one try after each pause, and pauses grow", () => {
  let clock = 0;
  const notes: string[] = [];
  const breaker = new Breaker((text) => notes.push(text), () => clock, () => 1);
  for (let n = 0; n < 5; n += 1) {
    expect(breaker.admits()).toBe(true);
    breaker.record(false);
  }
  const pauses: number[] = [];
  for (let n = 0; n < 7; n += 1) {
    const begun = clock;
    while (!breaker.admits()) clock += 0.25;
    pauses.push(clock - begun);
    expect(breaker.admits()).toBe(false); // one alone
    breaker.record(false);
  }
  expect(pauses).toEqual([1, 2, 4, 8, 16, 30, 30]);
  clock += 30;
  expect(breaker.admits()).toBe(true);
  breaker.record(true);
  expect(breaker.admits()).toBe(true);
  expect(notes).toEqual(["the service does not answer; it is left alone for 1.0 s"]);
});
