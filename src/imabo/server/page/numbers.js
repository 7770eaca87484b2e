// The first strip: four or five questions with their answers, in the server's words; and the best setting.

import { ICONS, h, icon, setAttr, setText } from "./dom.js";
import { Range } from "./draw.js";
import { ago, amount, compact, inTen, interval, measure, percent, plural, rate, whole } from "./format.js";
import { json, pairs } from "./settings.js";
import { copy } from "./toast.js";

/** @type {[string, string][]} */
const QUESTIONS = [
  ["working", "Is it working?"], ["best", "What is the best setting?"],
  ["cost", "What has exploring cost?"], ["feedback", "Is feedback healthy?"],
];

export class Numbers {
  constructor() {
    this.parts = new Map();
    this.strip = h("dl", { class: "card stats", "aria-label": "Four answers" }, QUESTIONS.map(([name, words]) => this.stat(name, words)));
    this.requests = h("b", { data: { stat: "requests" } }, "–");
    this.pace = h("span", { data: { stat: "pace" } });
    this.last = h("span", { data: { stat: "last" } });
    this.configurations = h("b", { data: { stat: "arms" } }, "–");
    this.servable = h("span");
    this.facts = h("p", { class: "facts small soft" },
      h("span", {}, this.requests, " requests", this.pace), this.last,
      h("span", {}, this.configurations, " configurations in play", this.servable));
    this.element = h("section", { class: "strip", "aria-label": "Key figures" }, this.strip, this.facts);
  }

  stat(name, words) {
    const value = h("dd", { class: "value", data: { answer: name } }, "–");
    const note = h("dd", { class: "note-line small soft" }, " ");
    const title = h("dt", {}, words);
    const element = h("div", { class: "stat", data: { stat: name } }, title, value, note);
    this.parts.set(name, { value, note, title, element });
    return element;
  }

  /** A study with budgets has a fifth answer. */
  offer(answers) {
    for (const { name, question } of answers) if (!this.parts.has(name)) this.strip.append(this.stat(name, question));
    for (const name of [...this.parts.keys()]) {
      if (answers.some((one) => one.name === name)) continue;
      this.parts.get(name).element.remove();
      this.parts.delete(name);
    }
    const isMore = answers.length > QUESTIONS.length;
    setAttr(this.strip, "aria-label", isMore ? "Five answers" : "Four answers");
    this.strip.classList.toggle("five", isMore);
  }

  show(found) {
    this.offer(found.answers);
    for (const { name, question, answer, detail, tone } of found.answers) {
      const { value, note, title } = this.parts.get(name);
      setText(title, question);
      setText(value, answer);
      setAttr(value, "data-tone", tone);
      setText(note, detail);
    }
    setText(this.requests, compact(found.n_pulls));
    setText(this.pace, found.pulls_per_minute === null ? "" : `, ${rate(found.pulls_per_minute)} a minute lately`);
    setText(this.last, found.last_pull_at === null ? "none yet" : `last request ${ago(found.last_pull_at)}`);
    setText(this.configurations, whole(found.n_active));
    setText(this.servable, found.n_arms ? `, ${whole(found.n_servable)} of them served, ${whole(found.n_arms)} ever` : "");
  }
}

export class Best {
  constructor() {
    this.shown = null;
    this.number = h("span", { class: "soft small" });
    this.label = h("p", { class: "label wrap" });
    this.value = h("div", { class: "value" }, "–");
    this.note = h("p", { class: "small soft" });
    this.chance = h("p", { class: "small soft", data: { stat: "chance" } });
    this.range = new Range(280);
    this.range.element.style.width = "100%";
    this.config = h("div", { class: "grow" });
    this.button = h("button", { type: "button", class: "main", on: { click: () => this.copy() } },
      icon(ICONS.copy), "Copy as JSON");
    this.units = {};
    this.title = h("h3", {}, "Best so far");
    this.element = h("section", { class: "card best", "aria-label": "Best configuration" },
      h("div", { class: "spread" }, this.title, this.number), this.label,
      h("div", {}, this.value, this.range.element, this.note, this.chance), this.config, this.button);
    this.show({ best: null, n_rewards: 0, reward_range: null });
  }

  copy() {
    const { mix } = this.best;
    if (isMixed(mix)) copy(json(mix.parts.map(({ share, config }) => ({ share, config }))), "Best mix");
    else copy(json(this.best.config), "Best configuration");
  }

  /** Within a budget the best may be a mix: its parts with their shares. */
  showMix(found) {
    const { mix } = found.best;
    const uses = Object.entries(mix.uses).map(([name, use]) => `${name} ${amount(use, this.units[name])}`);
    setText(this.title, "Best mix so far");
    setText(this.number, "");
    setText(this.label, `${mix.is_within ? "Within" : "Nothing is within"} the budget`);
    setText(this.value, measure(mix.mean));
    setText(this.note, `expected reward${uses.length ? `, with ${uses.join(" and ")} a request` : ""}`);
    setAttr(this.note, "title", "");
    setText(this.chance, "");
    this.range.element.style.display = "none";
    const text = json([mix, this.units]);
    if (text !== this.shown) this.config.replaceChildren(h("ul", { class: "mix" }, mix.parts.map((part) => this.part(part))));
    this.shown = text;
  }

  part({ arm, share, label, mean, uses }) {
    const fill = h("div", { class: "bar-fill" });
    fill.style.width = `${100 * share}%`;
    const used = Object.entries(uses).map(([name, use]) => `${name} ${amount(use, this.units[name])}`);
    return h("li", { data: { arm } },
      h("div", { class: "spread" }, h("strong", { class: "wrap" }, label), h("span", { class: "share" }, percent(share))),
      h("div", { class: "bar-track" }, fill),
      h("p", { class: "small soft wrap" }, [`#${arm}`, `reward ${measure(mean)}`, ...used].join(", ")));
  }

  show(found) {
    const { best } = found;
    this.best = best;
    if (isMixed(best?.mix)) {
      this.button.hidden = this.label.hidden = false;
      this.showMix(found);
      return;
    }
    setText(this.title, "Best so far");
    this.range.element.style.display = "";
    this.button.hidden = this.label.hidden = best === null;
    setText(this.number, best ? `#${best.arm}` : "");
    setText(this.label, best ? best.label : "");
    setText(this.value, best ? measure(best.mean) : "–");
    setText(this.note, best ? `${interval(best.interval)}, from ${plural(best.n_rewards, "reward")}${since(best)}` : "The first rewards will tell.");
    setAttr(this.note, "title", best ? plain(best) : "");
    setText(this.chance, best && best.chance !== null ? `${inTen(best.chance)} that it is the best of those there are` : "");
    this.range.move(best?.mean ?? null, best?.interval, found.reward_range || ends(best));
    const used = best?.mix ? best.mix.parts[0].uses : {};
    const text = best ? json([best.config, used]) : "";
    const more = Object.entries(used).map(([name, use]) => [`${name}, mean`, amount(use, this.units[name])]);
    if (text !== this.shown) this.config.replaceChildren(...(best ? [pairs(best.config, more)] : []));
    this.shown = text;
  }
}

function isMixed(mix) {
  return Boolean(mix && mix.parts.length > 1);
}

// The mean is drawn towards what the others say; the average of its own rewards is for those who ask.
function plain(best) {
  return best.observed === null ? "No reward of its own since the change" : `The plain average of its rewards is ${measure(best.observed)}: often too high, because lucky ones are chosen`;
}

function since(best) {
  return best.since === null ? "" : ` since a change that was noticed ${ago(best.since)}`;
}

function ends(best) {
  const known = best ? [best.mean, ...best.interval].filter((end) => end !== null) : [];
  return known.length ? [Math.min(...known), Math.max(...known)] : [0, 1];
}
