// Budgets and limits: how they are kept, what a little more reward costs, and setting others.

import { read, studyPath, write } from "./api.js";
import { openDialog, wordsOf } from "./dialogs.js";
import { h, setAttr, setText } from "./dom.js";
import { spark } from "./draw.js";
import { amount, measure, percent } from "./format.js";
import { mayAdmin } from "./session.js";
import { toast } from "./toast.js";

const TYPING_MS = 250;

export class Budgets {
  /** @param {() => Promise<void>} changed Shows what was changed. */
  constructor(study, changed) {
    this.study = study;
    this.changed = changed;
    this.shown = null;
    this.list = h("div", { class: "goals" });
    this.button = h("button", { type: "button", on: { click: () => this.open() } }, "Change budgets");
    this.element = h("section", { class: "card control", "aria-label": "Budgets and limits" },
      h("div", { class: "spread" }, h("h3", {}, "Budgets and limits"), mayAdmin() ? this.button : null), this.list);
    this.show([]);
  }

  show(goals) {
    const text = JSON.stringify(goals);
    if (text === this.shown) return;
    this.shown = text;
    this.list.replaceChildren(...(goals.length ? goals.map(goalRow)
      : [h("p", { class: "soft" }, "There is no budget. With one, the study serves the best reward that it buys, and says what a little more would cost.")]));
  }

  /** Reads the study first: others may have changed it since. */
  async open() {
    try {
      this.change(await read(studyPath(this.study)));
    } catch (error) {
      toast(wordsOf(error));
    }
  }

  change({ signals, objective }) {
    const now = objective ?? { budgets: {}, limits: [] };
    const names = Object.keys(signals ?? {});
    const budgets = names.map((name) => ({ name, ...field(`budget-${name}`,
      `${name}: at most, on average${signals[name].unit ? `, in ${signals[name].unit}` : ""} (empty: no budget)`, plain(now.budgets[name])) }));
    const limits = [];
    const rows = h("div", { class: "stack" });
    const add = (limit) => {
      const one = limitFields(names, limit, limits.length);
      limits.push(one);
      rows.append(one.element);
    };
    now.limits.forEach(add);
    const more = h("button", { type: "button", class: "small", on: { click: () => { add(null); limits.at(-1).signal.focus(); } } }, "Add a limit");
    const effect = h("p", { class: "note", role: "status" }, "Write a budget to see what it would buy.");
    let timer = 0;
    let asked = 0;
    openDialog({
      title: "Change budgets and limits", action: "Save", isWide: true,
      lead: "The study goes on with what it learned. The change is kept among what happened, and every server follows.",
      body: [h("div", { class: "config-form" }, budgets.map((one) => one.element)), rows, h("div", {}, more), effect],
      run: async () => {
        const wanted = {
          budgets: Object.fromEntries(budgets.filter((one) => !isEmpty(one.input)).map((one) => [one.name, numberIn(one)])),
          limits: limits.filter((one) => !isEmpty(one.share.input)).map((one) => ({
            signal: one.signal.value, above: numberIn(one.above), share: numberIn(one.share, 100),
          })),
        };
        const isNone = !Object.keys(wanted.budgets).length && !wanted.limits.length;
        await write("PATCH", studyPath(this.study), { objective: isNone ? null : wanted });
        toast(isNone ? "There is no budget any more" : "The budgets are saved");
        await this.changed();
      },
    });
    for (const one of budgets) one.input.addEventListener("input", () => {
      clearTimeout(timer);
      timer = setTimeout(() => this.say(one, signals[one.name].unit, effect, () => (asked += 1), () => asked), TYPING_MS);
    });
    const first = budgets.find((one) => !isEmpty(one.input));
    if (first) this.say(first, signals[first.name].unit, effect, () => (asked += 1), () => asked);
  }

  /** What a budget would buy, the others as they are; of answers that cross, the last one counts. */
  async say(one, unit, effect, ask, last) {
    const turn = ask();
    let words;
    try {
      if (isEmpty(one.input)) words = `Without a budget of ${one.name}.`;
      else {
        const budget = numberIn(one);
        const { at, others } = await read(studyPath(this.study, `/frontier?signal=${encodeURIComponent(one.name)}&budget=${budget}`));
        const mixed = at.shares.map(([arm, share]) => `${percent(share)} configuration ${arm}`).join(" and ");
        const kept = Object.keys(others).length ? ", with the other budgets and limits as they are" : "";
        words = at.is_within
          ? `${amount(budget, unit)} a request would buy a reward of about ${measure(at.mean)}: ${mixed}${kept}.`
          : `Nothing is within ${amount(budget, unit)} a request${kept}: configuration ${at.shares[0][0]} would be served, which uses ${amount(at.use, unit)}.`;
      }
    } catch (error) {
      words = wordsOf(error);
    }
    if (turn === last()) setText(effect, words);
  }
}

function goalRow(goal) {
  const tone = goal.is_kept === null ? null : goal.is_kept ? "good" : "warn";
  const isLimit = goal.above !== null;
  const shown = (value) => (value === null ? "–" : isLimit ? percent(value) : amount(value, goal.unit));
  const title = isLimit ? `${goal.signal} above ${amount(goal.above, goal.unit)}` : goal.signal;
  const each = isLimit ? "of the requests" : "a request";
  return h("div", { class: "goal", data: { goal: goal.name } },
    h("div", { class: "grow" },
      h("strong", { class: "wrap" }, title),
      h("p", {}, h("span", { class: "used", data: { tone } }, shown(goal.recent ?? goal.used)), ` ${each} ${goal.recent === null ? "so far" : "lately"}, ${shown(goal.allowed)} allowed`),
      h("p", { class: "small soft" }, `${goal.used === null ? "Nothing is known yet" : `${shown(goal.used)} since the start`}. Now ${goal.price_text}.`)),
    spark(goal.trend, goal.allowed));
}

function field(id, words, value) {
  const input = h("input", { id, inputmode: "decimal", autocomplete: "off", value });
  return { input, words, element: h("div", { class: "field" }, h("label", { for: id }, words), input) };
}

function limitFields(names, limit, i) {
  const signal = h("select", { id: `limit-signal-${i}` }, names.map((name) => h("option", { value: name }, name)));
  signal.value = limit?.signal ?? names[0];
  const above = field(`limit-above-${i}`, "above", plain(limit?.above));
  const share = field(`limit-share-${i}`, "in at most, in % of the requests (empty: no limit)", limit ? plain(100 * limit.share) : "");
  const element = h("fieldset", { class: "limit" }, h("legend", {}, `Limit ${i + 1}`),
    h("div", { class: "field" }, h("label", { for: `limit-signal-${i}` }, "Signal"), signal), above.element, share.element);
  return { signal, above, share, element };
}

/** A number to edit, in full. */
function plain(value) {
  if (value === undefined || value === null) return "";
  const rounded = Number(value.toPrecision(12));
  return Math.abs(rounded) >= 1e-6 ? String(rounded) : rounded.toFixed(18).replace(/0+$/, "");
}

function isEmpty(input) {
  return input.value.trim() === "";
}

function numberIn({ input, words }, divisor = 1) {
  const value = Number(input.value.trim().replace(",", ".")) / divisor;
  setAttr(input, "aria-invalid", null);
  if (!isEmpty(input) && Number.isFinite(value)) return value;
  setAttr(input, "aria-invalid", "true");
  throw new Error(`${words}: write a number`);
}
