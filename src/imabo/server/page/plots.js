// Figures: fetched when they come into view, drawn by Plotly in the page's colours.

import { Away, read, studyPath } from "./api.js";
import { wordsOf } from "./dialogs.js";
import { h, setText } from "./dom.js";
import { plain } from "./plain.js";
import { colour, onTheme } from "./theme.js";

const CONFIG = { displayModeBar: false, displaylogo: false, responsive: true, showTips: false, doubleClick: "reset" };
const LETTER_PX = 6.6; // of labels, about
let plotly = null;
/** What Plotly leaves on the window, once it is loaded. */
const drawer = () => /** @type {any} */ (globalThis).Plotly;

function loadPlotly() {
  plotly ??= new Promise((resolve, reject) => {
    const script = h("script", { src: "static/plotly.js", async: true });
    script.addEventListener("load", () => resolve(drawer()));
    script.addEventListener("error", () => {
      plotly = null;
      script.remove();
      reject(new Error("the script that draws figures is not there: the server needs the Python package plotly"));
    });
    document.head.append(script);
  });
  return plotly;
}

/** One figure of a study in a card. */
export class Plot {
  constructor(study, { name, title, about }, tools = null) {
    this.study = study;
    this.name = name;
    this.options = new Map();
    this.wanted = 0; // counts what was asked to be shown; `done` what is
    this.done = -1;
    this.spec = null;
    this.isSeen = false;
    this.busy = null;
    this.target = h("div", { role: "img", "aria-label": title });
    this.note = h("div", { class: "plot-note" }, h("span", {}, "Loading…"));
    this.aboutText = h("p", { class: "about" }, about);
    this.box = h("div", { class: "plot", tabindex: ["effects", "parallel"].includes(name) ? "0" : null, role: "group", "aria-label": title }, this.target, this.note);
    this.element = h("figure", { class: "card figure", id: `figure-${name}`, data: { figure: name } },
      h("figcaption", {}, h("div", { class: "spread" }, h("h3", {}, title), tools), this.aboutText), this.box);
    this.watch = new IntersectionObserver(([entry]) => {
      this.isSeen = entry.isIntersecting;
      if (this.isSeen) this.refresh();
    }, { rootMargin: "300px" });
    this.forget = onTheme(() => { if (this.spec) this.draw(); });
  }

  start() {
    this.watch.observe(this.element);
  }

  stop() {
    this.watch.disconnect();
    this.forget();
    drawer()?.purge(this.target);
  }

  /** The study has moved on: fetch again, now or when the figure is looked at. */
  renew() {
    this.wanted += 1;
    return this.refresh();
  }

  /** Draw it in another way; an empty value is the figure's own choice. */
  set(name, value) {
    if (value === "") this.options.delete(name);
    else this.options.set(name, value);
    return this.renew();
  }

  refresh() {
    if (!this.isSeen || this.done === this.wanted || this.busy) return this.busy;
    const wanted = this.wanted;
    this.busy = this.load().then(() => { this.done = wanted; }, (error) => this.fail(error, wanted))
      .finally(() => { this.busy = null; if (this.done !== this.wanted && this.done === wanted) this.refresh(); });
    return this.busy;
  }

  async load() {
    const [spec] = await Promise.all([read(studyPath(this.study, `/figures/${this.name}?${new URLSearchParams([...this.options])}`)), loadPlotly()]);
    this.spec = spec;
    setText(this.aboutText, spec.about);
    await this.draw();
  }

  fail(error, wanted) {
    if (!(error instanceof Away)) this.done = wanted; // no use to try the same again
    if (this.spec === null) this.say(wordsOf(error));
  }

  say(words) {
    this.note.hidden = words === "";
    setText(this.note.firstChild, words);
  }

  async draw() {
    const isEmpty = !this.spec.data.some(hasPoints);
    this.say(isEmpty ? "Nothing to draw yet." : "");
    this.target.hidden = isEmpty;
    if (isEmpty) return;
    const { data, layout } = plain(this.spec);
    this.target.style.minWidth = layout.minWidth ? `${layout.minWidth}px` : "";
    const dressed = dress(layout, data, this.box.clientWidth);
    this.box.style.minHeight = `${dressed.height}px`;
    await drawer().react(this.target, data, dressed, CONFIG);
  }
}

function hasPoints({ x, y }) {
  return Boolean(x?.length && y?.some((value) => value !== null));
}

/** A label that ends where the figure does; what begins it tells most apart. */
function shortened(text, most) {
  if (text.length <= most || /[&<]/.test(text)) return text;
  const star = text.endsWith(" ★") ? " ★" : ""; // of the best one
  return `${text.slice(0, most - 1 - star.length).trimEnd()}…${star}`;
}

/** A layout in the page's colours and fonts; Plotly keeps zooms and hidden traces by `uirevision`. */
export function dress(given, data, width) {
  const { minWidth, ...layout } = given;
  const [ink, soft, grid, line, raised] = ["ink", "soft", "grid", "line", "raised"].map(colour);
  const isNarrow = width < 480 && !minWidth;
  const hasLegend = layout.showlegend ?? data.filter((trace) => trace.showlegend !== false).length > 1;
  layout.autosize = true;
  layout.uirevision = "kept";
  layout.paper_bgcolor = "rgba(0,0,0,0)";
  layout.plot_bgcolor = "rgba(0,0,0,0)";
  layout.font = { family: getComputedStyle(document.body).fontFamily, size: 12, color: soft };
  layout.hoverlabel = { bgcolor: raised, bordercolor: line, font: { color: ink, size: 12 } };
  layout.margin = { l: 52, b: 44, ...layout.margin, ...(isNarrow ? { l: 40, r: 4 } : {}) };
  if (!hasLegend && !layout.annotations?.length) layout.margin.t = 12;
  layout.legend = { orientation: "h", yanchor: "bottom", y: 1.02, x: 0, ...layout.legend, bgcolor: "rgba(0,0,0,0)", font: { color: ink, size: isNarrow ? 11 : 12 } };
  layout.dragmode = matchMedia("(pointer: coarse)").matches ? false : "zoom";
  if (isNarrow) for (const note of layout.annotations || []) note.text = shortened(note.text, Math.floor((width - 56) / LETTER_PX));
  // Few and level: turned ones take more room than the figure.
  if (isNarrow && layout.xaxis?.type === "date") Object.assign(layout.xaxis, { nticks: 4, tickangle: 0 });
  for (const name of Object.keys(layout)) {
    if (/^[xy]axis\d*$/.test(name)) {
      const axis = layout[name];
      const title = axis.title?.text ? { ...axis.title, font: { size: 12, color: soft } } : axis.title;
      layout[name] = { automargin: true, ...axis, title, gridcolor: grid, linecolor: line, zerolinecolor: line, tickcolor: line };
    }
  }
  for (const trace of data) if (trace.mode === "text") trace.textfont = { ...trace.textfont, color: ink };
  for (const shape of layout.shapes || []) shape.line = { ...shape.line, color: shape.line?.color ?? line };
  for (const note of layout.annotations || []) note.font = { size: 12, color: soft, ...note.font };
  return layout;
}
