import {
  AsyncLocalStorageTransactionContextPropagator,
  ErrorCode,
  OpenFeature,
  ProviderEvents,
} from "@openfeature/server-sdk";
import { afterEach, beforeEach, describe, expect, inject, test, vi } from "vitest";

import { choice, type Client, float, int } from "../src/index.js";
import { spaceOf } from "../src/space.js";
import { ImaboProvider, type ProviderOptions } from "../src/openfeature.js";
import { Proxy } from "./proxy.js";
import { fresh, quiet, until } from "./serving.js";

const SPACE = {
  model: choice(["small", "large"]),
  temperature: float(0, 1),
  cached: choice([true, false]),
  deep: int(1, 3, { when: { model: "large" } }),
};
const quietly: string[] = [];
let proxy: Proxy;
let client: Client;

beforeEach(async () => {
  quietly.length = 0;
  proxy = await Proxy.start(inject("url"));
  client = quiet(proxy.url, { timeoutS: 10, retries: 0, flushS: 10 });
});
afterEach(async () => {
  await OpenFeature.close();
  await client.close();
  await proxy.end();
});

/** A study of the test's own, and OpenFeature's client for its flags. */
async function begun(options: ProviderOptions = {}) {
  const study = await client.create(fresh(), SPACE, {
    signals: { cost: {} },
    oracle: { type: "Random" },
  });
  const provider = new ImaboProvider(study, { log: (text) => quietly.push(text), ...options });
  await OpenFeature.setProviderAndWait(study.name, provider);
  return { study, flags: OpenFeature.getClient(study.name) };
}

async function pullOf(study: string, key: string) {
  const { pulls } = await client.request("get", "/v1/studies/{study}/keys/{key}", {
    path: { study, key },
  });
  return pulls[0]!;
}

describe("flags", () => {
  test("of one request come from one pull, whichever types they have", async () => {
    const { study, flags } = await begun();
    const context = { targetingKey: "request-1", user: 3 };
    const [model, temperature, cached] = await Promise.all([
      flags.getStringValue(`${study.name}.model`, "none", context),
      flags.getNumberValue(`${study.name}.temperature`, -1, context),
      flags.getBooleanDetails(`${study.name}.cached`, false, context),
    ]);
    const config = await flags.getObjectValue(study.name, {}, context);
    expect(config).toMatchObject({ model, temperature, cached: cached.value });
    const pull = await pullOf(study.name, "request-1");
    expect([pull.config, pull.context]).toEqual([config, { targeting_key: "request-1", user: 3 }]);
    expect((await study.facts()).n_pulls).toBe(1);
    expect(cached).toMatchObject({
      variant: `arm-${pull.arm}`,
      reason: "SPLIT",
      flagMetadata: { study: study.name, pull: pull.id, arm: pull.arm },
    });
  });

  test("of a request in a transaction need no context of their own", async () => {
    OpenFeature.setTransactionContextPropagator(
      new AsyncLocalStorageTransactionContextPropagator(),
    );
    const { study, flags } = await begun({ key: "request", attributes: ["request"] });
    const context = { targetingKey: "user-3", request: "r-1", secret: "x" };
    const found = await new Promise((resolve) => {
      OpenFeature.setTransactionContext(context, async () => {
        const model = await flags.getStringValue(`${study.name}.model`, "none");
        flags.track("reward", {}, { value: 0.5, cost: 2, page: "home" });
        resolve(model);
      });
    });
    await client.flush(60);
    const pull = await pullOf(study.name, "r-1");
    expect([pull.config.model, pull.context]).toEqual([found, {
      targeting_key: "user-3",
      request: "r-1",
    }]);
    expect([pull.reward, pull.signals]).toEqual([0.5, { cost: 2 }]);
  });

  test("that are not active have their default, and no error", async () => {
    const { study, flags } = await begun();
    for (let n = 0; n < 15; n += 1) {
      const context = { targetingKey: `request-${n}` };
      const deep = await flags.getNumberDetails(`${study.name}.deep`, -1, context);
      const model = await flags.getStringValue(`${study.name}.model`, "none", context);
      expect(deep.reason).toBe(model === "small" ? "DEFAULT" : "SPLIT");
      expect(deep.value === -1).toBe(model === "small");
      expect(deep.errorCode).toBeUndefined();
    }
  });

  test("may have other names, and studies may have dots in theirs", async () => {
    const name = `a.b.${fresh()}`;
    const study = await client.create(name, SPACE);
    const provider = new ImaboProvider([study], { flags: { "answer-model": `${name}.model` } });
    await OpenFeature.setProviderAndWait(name, provider);
    const flags = OpenFeature.getClient(name);
    const context = { targetingKey: "r" };
    const model = await flags.getStringValue("answer-model", "none", context);
    expect(await flags.getStringValue(`${name}.model`, "none", context)).toBe(model);
    expect(["small", "large"]).toContain(model);
    expect(() => new ImaboProvider(study, { flags: { x: "nowhere.model" } })).toThrow(/To fix it/);
    expect(() => new ImaboProvider([study, study])).toThrow(/each name once/);
    expect(() => new ImaboProvider([])).toThrow(/at least one/);
  });

  test("that cannot be have their default, and the error's code", async () => {
    const { study, flags } = await begun();
    const context = { targetingKey: "r" };
    const { name } = study;
    const codes = await Promise.all([
      flags.getStringDetails("nowhere.model", "none", context),
      flags.getStringDetails(`${name}.modle`, "none", context),
      flags.getStringDetails(`${name}.temperature`, "none", context),
      flags.getStringDetails(name, "none", context),
      flags.getStringDetails(`${name}.model`, "none", {}),
      flags.getStringDetails(`${name}.model`, "none", { targetingKey: "k".repeat(201) }),
      flags.getStringDetails(`${name}.model`, "none", {
        targetingKey: "s",
        text: "x".repeat(20_000),
      }),
    ]);
    expect(codes.map(({ value, reason }) => `${value} ${reason}`)).toEqual(
      Array(7).fill("none ERROR"),
    );
    expect(codes.map(({ errorCode }) => errorCode)).toEqual([
      ErrorCode.FLAG_NOT_FOUND,
      ErrorCode.FLAG_NOT_FOUND,
      ErrorCode.TYPE_MISMATCH,
      ErrorCode.TYPE_MISMATCH,
      ErrorCode.TARGETING_KEY_MISSING,
      ErrorCode.INVALID_CONTEXT,
      ErrorCode.INVALID_CONTEXT,
    ]);
    expect((await study.facts()).n_pulls).toBe(0);
    // With another context it goes well.
    expect(await flags.getStringValue(`${name}.model`, "none", { targetingKey: "s" })).not.toBe(
      "none",
    );
    const whole = await flags.getObjectDetails(`${name}.model`, {}, context);
    expect(whole.errorCode).toBe(ErrorCode.TYPE_MISMATCH);
    // A whole configuration is one pull, whoever asks.
    expect((await flags.getObjectDetails(name, {}, {})).reason).toBe("SPLIT");
  });
});

test("a parameter that is added later has a flag, a minute later at most", async ({ onTestFinished }) => {
  const { study, flags } = await begun();
  const flag = `${study.name}.size`;
  const before = await flags.getNumberDetails(flag, -1, { targetingKey: "one" });
  expect(before.errorCode).toBe(ErrorCode.FLAG_NOT_FOUND);
  await client.request("patch", "/v1/studies/{study}", {
    path: { study: study.name },
    body: { space: spaceOf({ ...SPACE, size: int(1, 9) }) },
  });
  const moment = performance.now();
  const clock = vi.spyOn(performance, "now").mockImplementation(() => moment + 61_000);
  onTestFinished(() => clock.mockRestore());
  const later = await flags.getNumberDetails(flag, -1, { targetingKey: "two" });
  expect([later.errorCode, later.reason]).toEqual([undefined, "SPLIT"]);
  expect(await flags.getNumberValue("nowhere.size", -1, { targetingKey: "two" })).toBe(-1);
});

describe("events", () => {
  test("tell the reward of the request; others go by", async () => {
    const { study, flags } = await begun({ rewards: { reward: null, thumbs_up: 1 } });
    await flags.getObjectValue(study.name, {}, { targetingKey: "one" });
    await flags.getObjectValue(study.name, {}, { targetingKey: "two" });
    flags.track("reward", { targetingKey: "one" }, { value: 0.25 });
    flags.track("thumbs_up", { targetingKey: "two" });
    flags.track("cost", { targetingKey: "two" }, { value: 3 });
    flags.track("visited", { targetingKey: "two" }, { value: 0 });
    await client.flush(60);
    const [one, two] = [await pullOf(study.name, "one"), await pullOf(study.name, "two")];
    expect([one.reward, two.reward, two.signals]).toEqual([0.25, 1, { cost: 3 }]);
    expect([client.nRefused, quietly]).toEqual([0, []]);
    flags.track("reward", { targetingKey: "one" });
    flags.track("reward", {}, { value: 1 });
    expect(quietly.map((text) => text.split(": ")[1])).toEqual([
      "it carries no number",
      "its context names no request",
    ]);
    // By the pull's id, where the context names nobody.
    const whole = await flags.getObjectDetails(study.name, {}, {});
    flags.track("reward", {}, { value: 0.75, pull: whole.flagMetadata["pull"] as string });
    await client.flush(60);
    const told = await client.request("get", "/v1/pulls/{pull}", {
      path: { pull: whole.flagMetadata["pull"] as string },
    });
    expect([told.reward, told.context]).toEqual([0.75, null]);
  });

  test("go to every study that served the request, or to the one they name", async () => {
    const [one, two] = [await client.create(fresh(), SPACE), await client.create(fresh(), SPACE)];
    const provider = new ImaboProvider([one, two], { log: (text) => quietly.push(text) });
    await OpenFeature.setProviderAndWait("both", provider);
    const flags = OpenFeature.getClient("both");
    for (const { name } of [one, two]) {
      await flags.getObjectValue(name, {}, { targetingKey: "r" });
      await flags.getObjectValue(name, {}, { targetingKey: "s" });
    }
    await flags.getObjectValue(one.name, {}, { targetingKey: "t" });
    flags.track("reward", { targetingKey: "r" }, { value: 1 });
    flags.track("reward", { targetingKey: "s" }, { value: 0.5, study: two.name });
    flags.track("reward", { targetingKey: "t" }, { value: 0.25 });
    await client.flush(60);
    const rewards = async (name: string, keys: string[]) =>
      Promise.all(keys.map(async (key) => (await pullOf(name, key)).reward));
    expect(await rewards(one.name, ["r", "s", "t"])).toEqual([1, null, 0.25]);
    expect(await rewards(two.name, ["r", "s"])).toEqual([1, 0.5]);
    expect([client.nRefused, quietly]).toEqual([0, []]);
    // Another process resolved its flags: whichever study knows the key takes the reward.
    await two.ask({ key: "elsewhere" });
    flags.track("reward", { targetingKey: "elsewhere" }, { value: 1 });
    await client.flush(60);
    expect([await rewards(two.name, ["elsewhere"]), client.nRefused]).toEqual([[1], 1]);
  });
});

test("without the service flags have their defaults, whole requests of them", async () => {
  const { study, flags } = await begun();
  const states: string[] = [];
  flags.addHandler(ProviderEvents.Error, () => void states.push("error"));
  flags.addHandler(ProviderEvents.Ready, () => void states.push("ready"));
  await until(() => states.length === 1); // it is ready now
  proxy.fault = () => ({ status: 503 });
  const context = { targetingKey: "request-1" };
  const away = await flags.getStringDetails(`${study.name}.model`, "mine", context);
  expect([away.value, away.reason, away.errorCode]).toEqual(["mine", "ERROR", ErrorCode.GENERAL]);
  proxy.fault = () => "pass";
  // A request that began with defaults ends with them; its reward is no arm's.
  expect(await flags.getNumberValue(`${study.name}.temperature`, -1, context)).toBe(-1);
  flags.track("reward", context, { value: 1 });
  const other = await flags.getStringDetails(`${study.name}.model`, "mine", {
    targetingKey: "two",
  });
  expect(other.reason).toBe("SPLIT");
  await client.flush(60);
  expect((await study.facts()).n_rewards).toBe(0);
  await until(() => states.join() === "ready,error,ready");
});

test("a provider may begin before its service does", async () => {
  const away = quiet("http://127.0.0.1:9", { timeoutS: 0.2, retries: 0, flushS: 0 });
  const provider = new ImaboProvider(away.study("support-answers"));
  await expect(OpenFeature.setProviderAndWait("away", provider)).rejects.toThrow(
    /did not get through/,
  );
  const flags = OpenFeature.getClient("away");
  const context = { targetingKey: "r" };
  expect(await flags.getObjectValue("support-answers", { model: "small" }, context)).toEqual({
    model: "small",
  });
  await away.close();
});
