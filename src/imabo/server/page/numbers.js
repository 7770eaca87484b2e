// The key figures of a study, and its best configuration.

import { ICONS, h, icon, setAttr, setText } from "./dom.js";
import { Range } from "./draw.js";
import { ago, compact, inTen, interval, measure, percent, plural, rate, whole } from "./format.js";
import { json, pairs } from "./settings.js";
import { copy } from "./toast.js";

export class Numbers {
  constructor() {
    this.parts = {};
    this.element = h("dl", { class: "card stats" },
      [["reward", "Reward now"], ["random", "Serving at random"], ["requests", "Requests"], ["feedback", "Feedback"], ["arms", "Active arms"]]
        .map(([name, words]) => this.stat(name, words)));
  }

  stat(name, words) {
    const value = h("dd", { class: "value", data: { stat: name } }, "–");
    const note = h("dd", { class: "note-line note" }, " ");
    note.className = "note-line small soft";
    this.parts[name] = { value, note };
    return h("div", { class: "stat" }, h("dt", {}, words), value, note);
  }

  put(name, value, note, style = "soft") {
    setText(this.parts[name].value, value);
    setText(this.parts[name].note, note || " ");
    setAttr(this.parts[name].note, "class", `note-line small ${style}`);
  }

  show(found) {
    const { recent_mean: now, random_mean: random } = found;
    const gain = now !== null && random !== null ? now - random : null;
    const words = gain === null ? interval(found.recent_interval)
      : `${gain >= 0 ? "+" : "−"}${measure(Math.abs(gain))} against random`;
    this.put("reward", measure(now), words, gain === null ? "soft" : gain >= 0 ? "better" : "worse");
    this.put("random", measure(random), random === null ? unknown(found) : interval(found.random_interval));
    this.put("requests", compact(found.n_pulls), found.n_pulls ? [found.pulls_per_minute === null ? "" : `${rate(found.pulls_per_minute)} a minute`, ago(found.last_at)].filter(Boolean).join(" · ") : "none yet");
    this.put("feedback", percent(found.feedback_rate), `${compact(found.n_pending)} pending · ${compact(found.n_expired)} expired`);
    this.put("arms", whole(found.n_active), `${whole(found.n_servable)} served · ${whole(found.n_arms)} ever`);
  }
}

export class Best {
  constructor() {
    this.shown = null;
    this.arm = h("span", { class: "soft small" });
    this.value = h("div", { class: "value" }, "–");
    this.note = h("p", { class: "small soft" });
    this.chance = h("p", { class: "small soft", data: { stat: "chance" } });
    this.range = new Range(280);
    this.range.element.style.width = "100%";
    this.config = h("div", { class: "grow" });
    this.button = h("button", { type: "button", on: { click: () => copy(json(this.best.config), "Best configuration") } },
      icon(ICONS.copy), "Copy as JSON");
    this.element = h("section", { class: "card best", "aria-label": "Best configuration" },
      h("div", { class: "spread" }, h("h3", {}, "Best so far"), this.arm),
      h("div", {}, this.value, this.range.element, this.note, this.chance), this.config, this.button);
    this.show({ best: null, n_rewards: 0, reward_range: null });
  }

  show(found) {
    const { best } = found;
    this.best = best;
    this.button.hidden = best === null;
    setText(this.arm, best ? `arm ${best.arm}` : "");
    setText(this.value, best ? measure(best.mean) : "–");
    setText(this.note, best ? `${interval(best.interval)}, from ${plural(best.n_rewards, "reward")}${since(best)}` : "The first rewards will tell.");
    setAttr(this.note, "title", best ? plain(best) : "");
    setText(this.chance, best && best.chance !== null ? `${inTen(best.chance)} that it is the best of the arms there are` : "");
    this.range.move(best?.mean ?? null, best?.interval, found.reward_range || ends(best));
    const text = best ? json(best.config) : "";
    if (text !== this.shown) this.config.replaceChildren(...(best ? [pairs(best.config)] : []));
    this.shown = text;
  }
}

/** What can be said of serving at random while its mean is not known. */
function unknown({ random_interval: ends, n_random_more: more, n_pulls: requests }) {
  if (!requests) return "not known yet";
  const known = ends ? `, between ${measure(ends[0])} and ${measure(ends[1])}` : "";
  return `not known yet${known}: about ${whole(more)} more requests that try something new at random`;
}

// The mean is drawn towards what the other arms say; the average of its own rewards is for those who ask.
function plain(best) {
  return best.observed === null ? "No reward of its own since the change" : `The plain average of its rewards is ${measure(best.observed)}: often too high, because lucky arms are chosen`;
}

function since(best) {
  return best.since === null ? "" : ` since a change that was noticed ${ago(best.since)}`;
}

function ends(best) {
  const known = best ? [best.mean, ...best.interval].filter((end) => end !== null) : [];
  return known.length ? [Math.min(...known), Math.max(...known)] : [0, 1];
}
