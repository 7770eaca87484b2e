// What happened to a study: changes by hand, and changes of the world that it noticed.

import { read, studyPath } from "./api.js";
import { ICONS, h, icon, setChildren } from "./dom.js";
import { moment } from "./format.js";

const FEW = 8; // that are shown at first
const MORE = 20; // with each click
const MOST = 1000;
const LOUD = new Set(["rolled back", "resumed", "infeasible", "feasible"]); // what someone should see

export class Happened {
  /** @param {(arm: string) => void} find Shows a configuration in the table. */
  constructor(study, find) {
    this.study = study;
    this.find = find;
    this.rows = new Map(); // kept by what they say, so that nothing flickers
    this.limit = FEW;
    this.list = h("ol", { class: "happened" });
    this.more = h("button", { type: "button", class: "small", hidden: true, on: { click: () => this.older() } }, "Show older ones");
    this.element = h("section", { class: "card", "aria-label": "What happened" }, h("h3", {}, "What happened"), this.list, this.more);
  }

  async refresh() {
    const { events, next } = await read(studyPath(this.study, `/events?limit=${this.limit}`));
    this.more.hidden = next === null || this.limit >= MOST;
    const kept = new Map(events.reverse().map((event) => {
      const key = `${event.at} ${event.text}`;
      return [key, this.rows.get(key) ?? row(event, this.find)];
    }));
    this.rows = kept;
    setChildren(this.list, ...kept.values());
  }

  older() {
    this.limit = Math.min(this.limit + MORE, MOST);
    return this.refresh();
  }
}

/** The API says arm where the page says configuration; texts with words of users stay as they are. */
function forPeople(kind, data, text, find) {
  const isOurs = ["state", "arm", "arms", "control", "infeasible", "feasible"].includes(kind) || (kind === "drift" && (data?.arm ?? null) !== null);
  if (!isOurs) return [text];
  // A number says little: a click on it shows the configuration.
  return text.replace(/\barm(s?)\b/g, "configuration$1").split(/(\bconfiguration \d+)/).map((part) => {
    const number = /^configuration (\d+)$/.exec(part)?.[1];
    return number ? h("button", { type: "button", class: "link", on: { click: () => find(number) } }, part) : part;
  });
}

function row({ kind, at, text, data }, find) {
  const isDrift = kind === "drift";
  const isLoud = LOUD.has(kind);
  return h("li", { data: { kind } },
    h("time", { class: "soft small", datetime: at }, moment(at)),
    h("span", { class: "wrap" }, isDrift ? h("strong", { class: "noticed" }, icon(ICONS.change), "Change noticed: ") : null,
      isLoud ? h("strong", {}, forPeople(kind, data, text, find)) : forPeople(kind, data, text, find)));
}
