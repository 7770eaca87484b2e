// The lift over the control: of late, and day by day.

import { h, setText } from "./dom.js";
import { measure, whole } from "./format.js";
import { table, tableRows } from "./settings.js";

const HEADS = ["When", "Lift", "Between", "Tuned", "Control", "Rewards"];
const DAYS = 7; // that are shown at once

export class LiftTable {
  constructor() {
    this.shown = null;
    this.words = h("p", { class: "small soft wrap" });
    this.table = table(HEADS, []);
    this.element = h("section", { class: "card table-card lift", "aria-label": "Lift over the control", hidden: true },
      h("div", { class: "lift-head" }, h("h3", {}, "Lift over the control"), this.words),
      h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "The lift by day" },
        this.table));
  }

  show(lift) {
    this.element.hidden = lift === null;
    const text = JSON.stringify(lift);
    if (lift === null || text === this.shown) return;
    this.shown = text;
    const intervals = lift.method === "asymptotic"
      ? "approximate (asymptotic) intervals, because rewards have no range"
      : "intervals that hold at every moment";
    setText(this.words, `Tuned minus control, with ${intervals}. Days are UTC; a day on its own says less than all of them.`);
    const days = lift.by_day.slice(-DAYS).reverse();
    const last = lift.last.n_tuned + lift.last.n_control;
    this.table.querySelector("tbody").replaceChildren(...tableRows(HEADS, [
      row("All", lift, lift.n_tuned + lift.n_control),
      ...(last < lift.n_tuned + lift.n_control ? [row("Lately", lift.last, last)] : []),
      ...days.map((day) => row(day.day, day, day.n_tuned + day.n_control)),
    ]));
  }
}

function row(when, one, n) {
  const ends = one.interval === null ? "–" : `${signed(one.interval[0])} to ${signed(one.interval[1])}`;
  return [when, one.estimate === null ? "not known yet" : signed(one.estimate), ends, measure(one.tuned_mean), measure(one.control_mean), whole(n)];
}

function signed(value) {
  return `${value >= 0 ? "+" : "−"}${measure(Math.abs(value))}`;
}
