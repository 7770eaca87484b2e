// The first strip: four questions with their answers, in the server's words; and the best setting.

import { ICONS, h, icon, setAttr, setText } from "./dom.js";
import { Range } from "./draw.js";
import { ago, compact, inTen, interval, measure, plural, rate, whole } from "./format.js";
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
    this.parts.set(name, { value, note });
    return h("div", { class: "stat", data: { stat: name } }, h("dt", {}, words), value, note);
  }

  show(found) {
    for (const { name, answer, detail, tone } of found.answers) {
      const { value, note } = this.parts.get(name);
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
    this.button = h("button", { type: "button", class: "main", on: { click: () => copy(json(this.best.config), "Best configuration") } },
      icon(ICONS.copy), "Copy as JSON");
    this.element = h("section", { class: "card best", "aria-label": "Best configuration" },
      h("div", { class: "spread" }, h("h3", {}, "Best so far"), this.number), this.label,
      h("div", {}, this.value, this.range.element, this.note, this.chance), this.config, this.button);
    this.show({ best: null, n_rewards: 0, reward_range: null });
  }

  show(found) {
    const { best } = found;
    this.best = best;
    this.button.hidden = this.label.hidden = best === null;
    setText(this.number, best ? `#${best.arm}` : "");
    setText(this.label, best ? best.label : "");
    setText(this.value, best ? measure(best.mean) : "–");
    setText(this.note, best ? `${interval(best.interval)}, from ${plural(best.n_rewards, "reward")}${since(best)}` : "The first rewards will tell.");
    setAttr(this.note, "title", best ? plain(best) : "");
    setText(this.chance, best && best.chance !== null ? `${inTen(best.chance)} that it is the best of those there are` : "");
    this.range.move(best?.mean ?? null, best?.interval, found.reward_range || ends(best));
    const text = best ? json(best.config) : "";
    if (text !== this.shown) this.config.replaceChildren(...(best ? [pairs(best.config)] : []));
    this.shown = text;
  }
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
