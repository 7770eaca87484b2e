// The table of configurations (arms, to the API): sorted, filtered and paged by the server, updated in place.

import { read, studyPath } from "./api.js";
import { ICONS, h, icon, setAttr, setText } from "./dom.js";
import { Range } from "./draw.js";
import { amount, interval, measure, percent, plural, whole } from "./format.js";
import { mayAdmin } from "./session.js";
import { json, settings } from "./settings.js";
import { pill, setPill } from "./states.js";
import { copy } from "./toast.js";
import { changeArm } from "./actions.js";

const AT_ONCE = 8;
const TYPING_MS = 250;
const STATES = ["active", "paused", "retired"];
// name of the column on the server, words, classes, direction of the first click
/** @type {[string, string, string, boolean][]} */
const COLUMNS = [
  ["id", "Configuration", "", false], ["state", "State", "", false], ["sure", "Mean reward", "num", true],
  ["n_rewards", "Rewards", "num", true], ["n_pulls", "Requests", "num", true],
];

const SIGNAL = "signal:"; // what the column of a signal begins with

export class ArmTable {
  /** @param {(params: URLSearchParams) => void} keep Keeps the settings in the address. */
  constructor(study, params, keep, changed) {
    this.study = study;
    this.keep = keep;
    this.changed = changed;
    this.columns = COLUMNS;
    this.units = {};
    this.sort = COLUMNS.some(([name]) => name === params.get("sort")) || params.get("sort")?.startsWith(SIGNAL) ? params.get("sort") : "sure";
    this.descending = params.get("order") !== "up";
    this.states = new Set((params.get("states") || "").split(",").filter((one) => STATES.includes(one)));
    this.text = params.get("text") || "";
    this.offset = Math.max(0, Number.parseInt(params.get("from") || "0", 10) || 0);
    this.rows = new Map();
    this.asked = 0;
    this.chips = [];
    this.heads = [];
    this.build();
  }

  build() {
    this.search = h("input", {
      type: "search", class: "search", placeholder: "Find by setting or number", "aria-label": "Find configurations", value: this.text,
      on: { input: () => this.typed() },
    });
    this.chips = STATES.map((state) => h("button", {
      type: "button", "aria-pressed": String(this.states.has(state)), on: { click: () => this.toggle(state) },
    }, state));
    this.count = h("span", { class: "count", role: "status" });
    this.order = h("span", {
      class: "order", hidden: true, title: "By the mean reward that each exceeds with a chance of 9 in 10: a high mean of few rewards may be luck",
    }, "surest first");
    this.heads = COLUMNS.map((column) => this.head(column));
    this.body = h("tbody", { role: "rowgroup" });
    this.none = h("p", { class: "table-empty" }, "Loading…");
    this.back = h("button", { type: "button", class: "small", on: { click: () => this.page(-1) } }, "Previous");
    this.next = h("button", { type: "button", class: "small", on: { click: () => this.page(1) } }, "Next");
    this.where = h("span");
    this.foot = h("div", { class: "table-foot" }, this.where, this.back, this.next);
    this.actions = h("th", { scope: "col", role: "columnheader", class: "no-sort" }, h("span", { class: "visually-hidden" }, "Actions"));
    const head = h("tr", { role: "row" }, this.heads, this.actions);
    this.element = h("div", { class: "card table-card arms" },
      h("div", { class: "table-tools" }, this.search,
        h("div", { class: "chips", role: "group", "aria-label": "Show only configurations that are" }, this.chips), this.count, this.order),
      h("div", { class: "scroll" }, h("table", { role: "table", "aria-label": "Configurations" },
        h("thead", { role: "rowgroup" }, head), this.body)),
      this.none, this.foot);
    this.showSort();
  }

  /** @param {[string, string, string, boolean]} column */
  head([name, words, style]) {
    return h("th", { scope: "col", role: "columnheader", class: style || null },
      h("button", { type: "button", data: { sort: name }, on: { click: () => this.sortBy(name) } }, words));
  }

  /** A column for each signal that the study declares, before the first rows are shown. */
  setSignals(signals) {
    this.units = Object.fromEntries(Object.entries(signals).map(([name, { unit }]) => [name, unit]));
    this.heads.slice(COLUMNS.length).forEach((head) => head.remove());
    this.columns = [...COLUMNS, ...Object.keys(signals).map((name) => /** @type {[string, string, string, boolean]} */ ([SIGNAL + name, name, "num", true]))];
    this.heads = [...this.heads.slice(0, COLUMNS.length), ...this.columns.slice(COLUMNS.length).map((column) => this.head(column))];
    this.actions.before(...this.heads.slice(COLUMNS.length));
    this.element.classList.toggle("has-signals", this.columns.length > COLUMNS.length);
    if (!this.columns.some(([name]) => name === this.sort)) this.sort = "sure";
    this.rows.clear();
    this.showSort();
  }

  query() {
    const query = new URLSearchParams({ sort: this.sort, descending: String(this.descending), offset: String(this.offset), limit: String(AT_ONCE) });
    if (this.states.size) query.set("states", [...this.states].join(","));
    if (this.text) query.set("text", this.text);
    return query;
  }

  /** Read what is shown again. Of answers that cross, the one to the last question counts. */
  async refresh() {
    const turn = (this.asked += 1);
    const found = await read(studyPath(this.study, `/table?${this.query()}`));
    if (turn !== this.asked) return;
    if (!found.rows.length && this.offset > 0 && found.n > 0) {
      this.offset = Math.floor((found.n - 1) / AT_ONCE) * AT_ONCE;
      await this.refresh();
      return;
    }
    this.show(found);
  }

  show(found) {
    const scale = scaleOf(found.rows);
    for (const row of found.rows) {
      if (!this.rows.has(row.id)) this.rows.set(row.id, new Row(this, row));
      this.rows.get(row.id).show(row, scale);
    }
    const shown = new Set(found.rows.map((row) => row.id));
    for (const id of [...this.rows.keys()]) if (!shown.has(id)) this.rows.delete(id);
    arrange(this.body, found.rows.map((row) => this.rows.get(row.id).element));
    const isFiltered = this.text !== "" || this.states.size > 0;
    this.none.hidden = found.rows.length > 0;
    setText(this.none, isFiltered ? "No configuration matches." : "No configuration yet: the first request brings one.");
    const isSure = this.sort === "sure" && this.descending && found.n > 1;
    setText(this.count, plural(found.n, "configuration"));
    this.order.hidden = !isSure;
    this.foot.hidden = found.n <= AT_ONCE;
    setText(this.where, found.n ? `${whole(this.offset + 1)} to ${whole(this.offset + found.rows.length)} of ${whole(found.n)}` : "");
    this.back.disabled = this.offset === 0;
    this.next.disabled = this.offset + AT_ONCE >= found.n;
  }

  async ask() {
    const kept = new URLSearchParams();
    if (this.sort !== "sure") kept.set("sort", this.sort);
    if (!this.descending) kept.set("order", "up");
    if (this.states.size) kept.set("states", [...this.states].join(","));
    if (this.text) kept.set("text", this.text);
    if (this.offset) kept.set("from", String(this.offset));
    this.keep(kept);
    this.element.classList.add("is-busy");
    try {
      await this.refresh();
    } catch {
      // the next look says what is wrong
    } finally {
      this.element.classList.remove("is-busy");
    }
  }

  sortBy(name) {
    this.descending = this.sort === name ? !this.descending : this.columns.some(([one, , , isDown]) => one === name && isDown);
    this.sort = name;
    this.offset = 0;
    this.showSort();
    this.ask();
  }

  showSort() {
    this.columns.forEach(([name], i) => {
      setAttr(this.heads[i], "aria-sort", name === this.sort ? (this.descending ? "descending" : "ascending") : null);
    });
  }

  toggle(state) {
    if (!this.states.delete(state)) this.states.add(state);
    this.showStates();
    this.offset = 0;
    this.ask();
  }

  showStates() {
    STATES.forEach((one, i) => setAttr(this.chips[i], "aria-pressed", this.states.has(one) ? "true" : "false"));
  }

  typed() {
    clearTimeout(this.typing);
    this.typing = setTimeout(() => {
      this.text = this.search.value.trim().slice(0, 200);
      this.offset = 0;
      this.ask();
    }, TYPING_MS);
  }

  /** Show one configuration, by its number. */
  find(arm) {
    this.text = this.search.value = `#${arm}`;
    this.states.clear();
    this.showStates();
    this.offset = 0;
    this.element.scrollIntoView({ block: "start" });
    this.search.focus({ preventScroll: true });
    this.ask();
  }

  page(step) {
    this.offset = Math.max(0, this.offset + step * AT_ONCE);
    this.ask();
  }
}

/** Put rows in order, moving only those that are elsewhere, so that the focus stays where it is. */
function arrange(body, wanted) {
  const keep = new Set(wanted);
  for (const child of [...body.children]) if (!keep.has(child)) child.remove();
  const focused = wanted.find((row) => row.contains(document.activeElement));
  const at = focused ? wanted.indexOf(focused) : -1;
  if (at >= 0 && focused.parentNode === body) {
    for (let i = at - 1, before = focused; i >= 0; before = wanted[i], i -= 1) if (before.previousElementSibling !== wanted[i]) body.insertBefore(wanted[i], before);
    for (let i = at + 1, after = focused; i < wanted.length; after = wanted[i], i += 1) if (after.nextElementSibling !== wanted[i]) after.after(wanted[i]);
    return;
  }
  wanted.forEach((row, i) => { if (body.children[i] !== row) body.insertBefore(row, body.children[i] || null); });
}

function scaleOf(rows) {
  const ends = rows.flatMap((row) => [row.estimate, row.low, row.high]).filter((end) => end !== null && end !== undefined);
  return ends.length ? [Math.min(...ends), Math.max(...ends)] : [0, 1];
}

class Row {
  constructor(table, row) {
    this.table = table;
    this.range = new Range();
    this.state = pill();
    this.label = h("span", { class: "wrap" });
    this.cells = Object.fromEntries(["mean", "n_rewards", "pending", "n_pulls", "share"].map((name) => [name, h("span")]));
    this.cells.pending.className = this.cells.share.className = "under";
    this.fill = h("div", { class: "bar-fill" });
    this.signals = new Map(Object.keys(table.units).map((name) => [name, h("span")]));
    this.pause = h("button", { type: "button", class: "small", on: { click: () => this.act(this.row.state === "paused" ? "active" : "paused") } });
    this.retire = h("button", { type: "button", class: "small danger", on: { click: () => this.act("retired") } }, "Retire");
    const copyButton = h("button", {
      type: "button", class: "small icon-button", title: "Copy the configuration", "aria-label": `Copy configuration ${row.id}`,
      on: { click: () => copy(json(this.row.config), `Configuration ${row.id}`) },
    }, icon(ICONS.copy, 14));
    setAttr(this.retire, "aria-label", `Retire configuration ${row.id}`);
    this.element = h("tr", { role: "row", data: { arm: row.id } },
      h("th", { scope: "row", role: "rowheader" }, h("div", { class: "arm-name" }, this.label), settings(row.config), h("div", { class: "origin" }, `#${row.id}, ${originOf(row)}`)),
      h("td", { role: "cell", class: "state" }, this.state),
      h("td", { role: "cell", class: "num mean-cell", data: { label: "Mean reward" } }, h("div", { class: "mean" }, this.range.element, this.cells.mean)),
      h("td", { role: "cell", class: "num", data: { label: "Rewards" } }, this.cells.n_rewards, this.cells.pending),
      h("td", { role: "cell", class: "num", data: { label: "Requests" } }, this.cells.n_pulls, this.cells.share, h("div", { class: "bar-track" }, this.fill)),
      [...this.signals].map(([name, cell]) => h("td", { role: "cell", class: "num", data: { label: `${name}, mean`, signal: name } }, cell)),
      h("td", { role: "cell", class: "actions" }, h("div", {}, copyButton, ...(mayAdmin() ? [this.pause, this.retire] : []))));
  }

  show(row, scale) {
    this.row = row;
    const { cells } = this;
    setText(this.label, row.label);
    // Drawn towards what the others say: a mean of few rewards is mostly luck.
    setText(cells.mean, measure(row.estimate));
    cells.mean.title = row.mean === null ? "" : `between ${interval([row.low, row.high])}, 9 in 10 above ${measure(row.sure)}; the plain average is ${measure(row.mean)}`;
    this.range.move(row.estimate, [row.low, row.high], scale);
    for (const [name, cell] of this.signals) setText(cell, amount(row.signals[name], this.table.units[name]));
    setText(cells.n_rewards, whole(row.n_rewards));
    setText(cells.n_pulls, whole(row.n_pulls));
    setText(cells.share, percent(row.share));
    setText(cells.pending, row.n_pending ? `${whole(row.n_pending)} waiting` : " ");
    this.fill.style.width = `${100 * (row.share || 0)}%`;
    setPill(this.state, row.is_draw ? "control draw" : row.state);
    setAttr(this.element, "data-state", row.state);
    this.element.classList.toggle("is-best", row.is_best);
    const verb = row.state === "paused" ? "Resume" : "Pause";
    setText(this.pause, verb);
    setAttr(this.pause, "aria-label", `${verb} configuration ${row.id}`);
    this.pause.hidden = this.retire.hidden = row.state === "retired";
  }

  act(state) {
    changeArm(this.table.study, this.row, state, this.table.changed);
  }
}

const ORIGINS = { warmup: "one of the first", oracle: "proposed by the search", baseline: "drawn at random", manual: "added by hand", control: "of the control" };

function originOf(row) {
  if (!row.parent) return ORIGINS[row.origin];
  return `${ORIGINS[row.origin]} from #${row.parent}${row.mutated ? `, another ${row.mutated}` : ""}`;
}
