// One study: its numbers, figures, arms and space, and what can be done to it.

import { Away, Problem, read, studyPath } from "./api.js";
import { addArm } from "./configure.js";
import { deleteStudy, save } from "./actions.js";
import { ArmTable } from "./arms.js";
import { wordsOf } from "./dialogs.js";
import { ICONS, h, icon, setText } from "./dom.js";
import { day, plural } from "./format.js";
import { Happened } from "./happened.js";
import { Live } from "./live.js";
import { menu } from "./menu.js";
import { Best, Numbers } from "./numbers.js";
import { Plot } from "./plots.js";
import { changeSpace } from "./respace.js";
import { mayAdmin } from "./session.js";
import { spaceTable } from "./settings.js";
import { pill, setPill } from "./states.js";
import { waiting } from "./welcome.js";

const GROUPS = [
  ["Progress", ["traffic", "growth", "cost", "feedback"]],
  ["Arms", ["arms", "descent"]],
  ["Parameters", ["importance", "effects", "parallel"]],
];
const WIDE = new Set(["importance", "effects", "parallel", "descent", "arms"]);

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
    this.numbers = new Numbers();
    this.best = new Best();
    this.happened = new Happened(name);
    this.table = new ArmTable(name, params, (kept) => this.keep(kept), () => this.live.now());
    this.spaceBox = h("div", { class: "card table-card" });
    this.baseline = h("select", { id: "baseline", on: { change: () => this.compare() } }, h("option", { value: "" }, "no arm"));
    this.actions = h("div", { class: "row" });
    this.inside = h("div", { class: "stack" }, this.head(), this.numbers.element, h("p", { class: "soft", "aria-busy": "true" }, "Loading…"));
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
      this.plots.push(plot);
      return plot.element;
    };
    const against = h("div", { class: "tools" }, h("label", { for: "baseline" }, "Compare with"), this.baseline);
    const lead = h("div", { class: "lead" }, make("reward", against), this.best.element);
    const group = (names) => h("div", { class: "pair" }, names.filter((name) => byName.has(name)).map((name) => make(name)));
    const [progress, arms, parameters] = GROUPS.map(([, names]) => names);
    const sections = [
      section("Progress", [lead, this.happened.element, group(progress)]),
      section("Arms", [this.table.element, group(arms)]),
      section("Parameters", [group(parameters)]),
      section("Space", [this.spaceBox], this.spaceAction()),
    ];
    this.pictures = [sections[0], sections[2]];
    const others = [...byName.keys()];
    if (others.length) sections.splice(3, 0, section("More", [group(others)]));
    this.waiting = waiting(this.name);
    this.contents = contents(sections);
    this.inside.replaceChildren(this.head(), this.numbers.element, this.waiting, this.contents, ...sections);
    this.showWaiting(this.study.n_pulls === 0);
    this.actions.replaceChildren(...this.buttons());
    this.plots.forEach((plot) => plot.start());
  }

  /** Before the first request there is nothing to draw, but something to say. */
  showWaiting(isWaiting) {
    this.waiting.hidden = !isWaiting;
    for (const one of [this.contents, ...this.pictures, ...this.plots.slice(1).map((plot) => plot.element)]) one.hidden = isWaiting;
  }

  spaceAction() {
    return mayAdmin() ? h("button", { type: "button", on: { click: () => changeSpace(this.name, this.study.space, () => this.changed()) } }, icon(ICONS.space), "Change the space") : null;
  }

  buttons() {
    const found = [menu([icon(ICONS.down), "Download"], [
      { label: "Requests as CSV", run: () => save(this.name, "csv") },
      { label: "The log as JSON lines", run: () => save(this.name, "jsonl") },
      { label: "Report (HTML)", run: () => save(this.name, "report") },
    ])];
    if (mayAdmin()) {
      found.unshift(h("button", { type: "button", class: "main", on: { click: () => addArm(this.name, this.study.space, this.overview?.best?.config, () => this.changed()) } }, icon(ICONS.plus), "Add a configuration"));
      found.push(menu([icon(ICONS.more)], [
        { label: "Change the space…", run: () => changeSpace(this.name, this.study.space, () => this.changed()) },
        { label: "Delete the study…", run: () => deleteStudy(this.name), isDanger: true },
      ], { class: "icon-button", "aria-label": "More actions" }));
    }
    return found;
  }

  async readStudy() {
    this.study = await retried(() => read(studyPath(this.name)), () => this.isOver);
    const { study } = this;
    setText(this.sub, `Since ${day(study.created_at)} · ${plural(study.space.parameters.length, "parameter")} · space version ${study.space_version} · ${study.policy.type} with ${study.oracle.type}`);
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
    const mark = [found.created_at, found.n_pulls, found.n_rewards, found.n_pending, found.n_expired, found.n_arms, found.n_active, found.n_servable, found.space_version, found.best?.since].join();
    if (mark === this.mark) return;
    if (found.space_version !== this.spaceVersion) await this.readStudy();
    await Promise.all([this.table.refresh(), this.happened.refresh()]);
    this.offer();
    this.mark = mark;
    this.plots.forEach((plot) => plot.renew());
  }

  /** Something was just changed by hand: show it at once. */
  changed() {
    this.mark = null;
    return this.live.now();
  }

  /** The arms that the reward can be compared with: those of the table. */
  offer() {
    const chosen = this.baseline.value;
    const ids = [...this.table.rows.keys()].sort((a, b) => a - b).map(String);
    if (chosen && !ids.includes(chosen)) ids.push(chosen);
    const known = [...this.baseline.options].slice(1).map((option) => option.value);
    if (ids.join() === known.join()) return;
    this.baseline.replaceChildren(this.baseline.options[0], ...ids.map((id) => h("option", { value: id }, `arm ${id}`)));
    this.baseline.value = chosen;
  }

  compare() {
    const arm = this.baseline.value;
    this.plots.find((plot) => plot.name === "reward").renew(arm ? `?baseline=${arm}` : "");
  }

  keep(params) {
    const query = params.toString();
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
