// One study: its answers, figures, configurations and settings, and what can be done to it.

import { Away, Problem, read, studyPath } from "./api.js";
import { addArm } from "./configure.js";
import { deleteStudy, save } from "./actions.js";
import { ArmTable } from "./arms.js";
import { Budgets } from "./budgets.js";
import { Control } from "./control.js";
import { wordsOf } from "./dialogs.js";
import { ICONS, h, icon, setAttr, setText } from "./dom.js";
import { day, plural } from "./format.js";
import { Find } from "./find.js";
import { Happened } from "./happened.js";
import { LiftTable } from "./lift.js";
import { Live } from "./live.js";
import { menu } from "./menu.js";
import { Best, Numbers } from "./numbers.js";
import { Plot } from "./plots.js";
import { changeSpace } from "./respace.js";
import { mayAdmin } from "./session.js";
import { spaceTable } from "./settings.js";
import { pill, setPill } from "./states.js";
import { waiting } from "./welcome.js";

const PAST = ["reward", "traffic", "cost", "growth", "spend", "limits"]; // over time, or over requests
const OF_SIGNAL = ["frontier", "budgets", "spend"]; // of the signal that is chosen
const PARTS = { progress: ["traffic", "cost", "feedback"], budget: ["frontier", "budgets", "spend", "limits"], configurations: ["arms"], parameters: ["importance", "effects"] };
const WIDE = new Set(["importance", "effects", "parallel", "descent", "arms", "feedback"]);
const MORE = "30"; // best configurations that a click shows

export function studyView(name, params) {
  const view = new StudyView(name, params);
  return { element: view.element, start: () => view.start(), stop: () => view.stop() };
}

class StudyView {
  constructor(name, params) {
    this.name = name;
    this.study = null;
    this.overview = null;
    this.mark = null;
    this.spaceVersion = null;
    this.plots = [];
    this.pictures = [];
    this.live = new Live(() => this.look(), (error) => this.isGone(error));
    this.state = pill();
    this.sub = h("p", { class: "soft" }, " ");
    this.axis = params.get("axis") === "requests" ? "requests" : "time";
    this.kept = new URLSearchParams();
    this.numbers = new Numbers();
    this.find = new Find(name);
    this.best = new Best();
    this.happened = new Happened(name, (arm) => this.table.find(arm));
    this.lift = new LiftTable();
    this.budgets = new Budgets(name, () => this.changed());
    this.signal = h("select", { id: "of-signal", on: { change: () => OF_SIGNAL.forEach((one) => this.plot(one)?.set("signal", this.signal.value)) } });
    this.control = new Control(name, () => ({ space: this.study.space, best: this.overview?.best?.config }), () => this.changed());
    this.table = new ArmTable(name, params, (kept) => this.keep(kept), () => this.live.now());
    this.spaceBox = h("div", { class: "card table-card" });
    this.inner = h("p", { class: "small soft" });
    this.parameter = h("select", { id: "share-by", on: { change: () => this.plot("traffic").set("parameter", this.parameter.value) } });
    this.baseline = h("select", { id: "baseline", on: { change: () => this.compare() } }, h("option", { value: "" }, "nothing else"));
    this.actions = h("div", { class: "row" });
    this.inside = h("div", { class: "stack study" }, this.head(), this.numbers.element, h("p", { class: "soft", "aria-busy": "true" }, "Loading…"));
    this.element = h("div", {}, this.inside);
  }

  head() {
    return h("div", { class: "head" },
      h("div", { class: "head-text" }, h("div", { class: "head-line" }, h("h1", {}, this.name), this.state), this.sub),
      this.actions);
  }

  async start() {
    try {
      const [{ figures }] = await Promise.all([retried(() => read(studyPath(this.name, "/figures")), () => this.isOver), this.readStudy()]);
      if (this.isOver) return;
      this.build(figures);
      await this.live.start();
    } catch (error) {
      this.fail(error);
    }
  }

  stop() {
    this.isOver = true;
    this.live.stop();
    this.plots.forEach((plot) => plot.stop());
  }

  /** A study that was deleted while it was shown. */
  isGone(error) {
    if (!(error instanceof Problem) || error.code !== "unknown_study") return false;
    this.fail(error);
    return true;
  }

  fail(error) {
    if (this.isOver || (error instanceof Problem && error.status === 401)) return;
    const isGone = error instanceof Problem && error.status === 404;
    this.stop();
    this.element.replaceChildren(h("section", { class: "empty card", role: "alert" },
      h("h1", {}, isGone ? "There is no such study" : "This study cannot be shown"),
      h("p", { class: "wrap" }, isGone ? `No study here is named “${this.name}”; it may have been deleted.` : wordsOf(error)),
      h("a", { class: "button", href: "#/" }, "All studies")));
  }

  build(figures) {
    const byName = new Map(figures.map((figure) => [figure.name, figure]));
    const make = (name, tools) => {
      const plot = new Plot(this.name, byName.get(name), tools);
      byName.delete(name);
      if (WIDE.has(name)) plot.element.classList.add("wide");
      if (PAST.includes(name)) plot.options.set("axis", this.axis);
      this.plots.push(plot);
      return plot.element;
    };
    const tool = (id, words, control) => h("div", { class: "tools" }, h("label", { for: id }, words), control);
    const tools = { reward: tool("baseline", "Compare with", this.baseline), traffic: tool("share-by", "By", this.parameter), arms: this.moreButton() };
    const group = (names) => h("div", { class: "pair" }, names.filter((name) => byName.has(name)).map((name) => make(name, tools[name])));
    const lead = h("div", { class: "lead" }, make("reward", tools.reward), this.best.element);
    // What takes knowing how it works inside is closed at first, and read when it is opened.
    const research = figures.filter((figure) => figure.is_research).map((figure) => figure.name);
    const usual = [...Object.values(PARTS).flat(), ...research];
    const others = [...byName.keys()].filter((name) => !usual.includes(name));
    const progress = section("Progress", [lead, this.lift.element, group([...PARTS.progress, ...others]), this.happened.element], this.axisSwitch());
    // Only where the study declares signals are there figures of them.
    const budget = byName.has("frontier") ? section("Budget", [this.budgets.element, group(PARTS.budget)], this.signalChoice(tool)) : null;
    const parameters = section("Parameters", [group(PARTS.parameters)]);
    const sections = [
      progress, budget,
      section("Configurations", [this.table.element, group(PARTS.configurations), this.find.element], this.addButton()),
      parameters,
      section("Settings", [this.control.element, this.spaceBox], this.spaceAction()),
      section("Research", [h("details", { class: "card research" },
        h("summary", {}, "How the search works inside"), h("div", { class: "stack" }, this.inner, group(research)))]),
    ].filter(Boolean);
    this.pictures = [progress, parameters, this.find.element, sections.at(-1)];
    this.waiting = waiting(this.name);
    this.contents = contents(sections);
    this.inside.replaceChildren(this.head(), this.control.banner, this.numbers.element, this.waiting, this.contents, ...sections);
    this.showWaiting(this.study.n_pulls === 0);
    this.actions.replaceChildren(...this.buttons());
    this.plots.forEach((plot) => plot.start());
  }

  plot(name) {
    return this.plots.find((plot) => plot.name === name);
  }

  /** Before the first request there is nothing to draw, but something to say. */
  showWaiting(isWaiting) {
    this.waiting.hidden = !isWaiting;
    for (const one of [this.contents, ...this.pictures, ...this.plots.slice(1).map((plot) => plot.element)]) one.hidden = isWaiting;
  }

  /** Figures of the past over time, or over requests. */
  axisSwitch() {
    const choose = (axis) => {
      this.axis = axis;
      buttons.forEach((button) => setAttr(button, "aria-pressed", String(button.dataset.axis === axis)));
      for (const name of PAST) this.plot(name)?.set("axis", axis);
      this.keep(this.kept);
    };
    const buttons = [["time", "Time"], ["requests", "Requests"]].map(([axis, words]) => h("button", {
      type: "button", data: { axis }, "aria-pressed": String(this.axis === axis), on: { click: () => choose(axis) },
    }, words));
    return h("div", { class: "choices", role: "group", "aria-label": "Show the past over" }, buttons);
  }

  /** Where there are several signals: which one the reward is held against. */
  signalChoice(tool) {
    return Object.keys(this.study.signals ?? {}).length > 1 ? tool("of-signal", "Signal", this.signal) : null;
  }

  moreButton() {
    const button = h("button", { type: "button", class: "small", "aria-expanded": "false", on: { click: () => {
      const isMore = button.getAttribute("aria-expanded") === "false";
      button.setAttribute("aria-expanded", String(isMore));
      setText(button, isMore ? "Show eight" : "Show more");
      this.plot("arms").set("limit", isMore ? MORE : "");
    } } }, "Show more");
    return button;
  }

  addButton() {
    return mayAdmin() ? h("button", { type: "button", on: { click: () => this.add() } }, icon(ICONS.plus), "Add a configuration") : null;
  }

  add() {
    addArm(this.name, this.study.space, this.overview?.best?.config, () => this.changed());
  }

  spaceAction() {
    return mayAdmin() ? h("button", { type: "button", on: { click: () => this.respace() } }, icon(ICONS.space), "Change the space") : null;
  }

  respace() {
    changeSpace(this.name, this.study.space, () => this.changed());
  }

  buttons() {
    const found = [menu([icon(ICONS.down), "Download"], [
      { label: "Requests as CSV", run: () => save(this.name, "csv") },
      { label: "The log as JSON lines", run: () => save(this.name, "jsonl") },
      { label: "Report (HTML)", run: () => save(this.name, "report") },
    ])];
    if (mayAdmin()) {
      found.push(this.control.button, menu([icon(ICONS.more)], [
        { label: "Add a configuration…", run: () => this.add() },
        { label: "Change the space…", run: () => this.respace() },
        { label: "Delete the study…", run: () => deleteStudy(this.name), isDanger: true },
      ], { class: "icon-button", "aria-label": "More actions" }));
    }
    return found;
  }

  async readStudy() {
    this.study = await retried(() => read(studyPath(this.name)), () => this.isOver);
    const { study } = this;
    setText(this.sub, `Since ${day(study.created_at)} · ${plural(study.space.parameters.length, "parameter")} · space version ${study.space_version}`);
    setText(this.inner, `The policy ${study.policy.type} decides what is served, the oracle ${study.oracle.type} proposes what to try; seed ${study.seed}.`);
    this.offerParameters(study.space.parameters);
    this.offerSignals(study);
    this.spaceVersion = study.space_version;
    this.spaceBox.replaceChildren(...spaceTable(study.space).filter(Boolean));
  }

  async look() {
    const found = await read(studyPath(this.name, "/overview"));
    if (this.isOver) return;
    this.overview = found;
    setPill(this.state, found.state);
    this.numbers.show(found);
    this.showWaiting(found.n_pulls === 0);
    this.best.show(found);
    this.lift.show(found.lift);
    this.budgets.show(found.goals);
    const mark = [found.created_at, found.n_pulls, found.n_rewards, found.n_pending, found.n_expired, found.n_arms, found.n_active, found.n_servable, found.space_version, found.best?.since, found.last_at, found.state].join();
    if (mark === this.mark) return;
    if (found.space_version !== this.spaceVersion) await this.readStudy();
    await Promise.all([this.table.refresh(), this.happened.refresh(), this.control.refresh()]);
    this.offer();
    this.mark = mark;
    this.plots.forEach((plot) => plot.renew());
  }

  /** Something was just changed by hand: show it at once. */
  changed() {
    this.mark = null;
    return this.live.now();
  }

  /** The configurations that the reward can be compared with: those of the table. */
  offer() {
    const chosen = this.baseline.value;
    const offered = new Map([...this.table.rows].map(([id, row]) => [String(id), `${row.row.label} (#${id})`]));
    if (chosen && !offered.has(chosen)) offered.set(chosen, this.baseline.selectedOptions[0].textContent || "");
    const known = [...this.baseline.options].slice(1).map((option) => [option.value, option.textContent]);
    if (JSON.stringify([...offered]) === JSON.stringify(known)) return;
    this.baseline.replaceChildren(this.baseline.options[0], ...[...offered].map(([id, words]) => h("option", { value: id }, words)));
    this.baseline.value = chosen;
  }

  /** The parameters whose values can share the traffic; the first choice is what the figure begins with. */
  offerParameters(parameters) {
    const chosen = this.parameter.value;
    const first = parameters.find((one) => one.type === "choice") || parameters[0];
    this.parameter.replaceChildren(...parameters.map(({ name }) => h("option", { value: name }, name)));
    this.parameter.value = parameters.some(({ name }) => name === chosen) ? chosen : first.name;
    const plot = this.plot("traffic");
    if (plot && chosen && this.parameter.value !== chosen) plot.set("parameter", this.parameter.value);
  }

  /** The signals there are; the one of the first budget is what the figures begin with. */
  offerSignals({ signals, objective }) {
    const units = Object.fromEntries(Object.entries(signals ?? {}).map(([name, { unit }]) => [name, unit]));
    if (JSON.stringify(units) === JSON.stringify(this.table.units)) return;
    this.table.setSignals(signals ?? {});
    this.best.units = this.find.units = units;
    const first = [...Object.keys(objective?.budgets ?? {}), ...Object.keys(units)][0];
    this.signal.replaceChildren(...Object.keys(units).map((name) => h("option", { value: name }, name)));
    this.signal.value = first ?? "";
  }

  compare() {
    this.plot("reward").set("baseline", this.baseline.value);
  }

  keep(params) {
    this.kept = new URLSearchParams(params);
    if (this.axis !== "time") this.kept.set("axis", this.axis);
    else this.kept.delete("axis");
    const query = this.kept.toString();
    history.replaceState(null, "", `#/studies/${encodeURIComponent(this.name)}${query ? `?${query}` : ""}`);
  }
}

function section(title, children, action = null) {
  const heading = h("h2", { tabindex: "-1" }, title);
  return h("section", { class: "section", "aria-label": title }, h("div", { class: "spread" }, heading, action), ...children);
}

/** The sections as buttons that stay in sight. */
function contents(sections) {
  return h("nav", { class: "sections", "aria-label": "Parts of this page" }, sections.map((one) => h("button", {
    type: "button", class: "quiet small",
    on: {
      click: () => {
        const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
        one.scrollIntoView({ behavior: calm ? "auto" : "smooth" });
        one.querySelector("h2").focus({ preventScroll: true });
      },
    },
  }, one.getAttribute("aria-label"))));
}

/** Read until the server answers; a refusal ends it. */
async function retried(work, isOver) {
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof Away) || isOver()) throw error;
      await new Promise((done) => { setTimeout(done, 2000); });
    }
  }
}
