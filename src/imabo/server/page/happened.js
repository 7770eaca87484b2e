// What happened to a study: changes by hand, and changes of the world that it noticed.

import { read, studyPath } from "./api.js";
import { ICONS, h, icon, setChildren } from "./dom.js";
import { moment } from "./format.js";

const MOST = 8;

export class Happened {
  constructor(study) {
    this.study = study;
    this.rows = new Map(); // kept by what they say, so that nothing flickers
    this.list = h("ol", { class: "happened" });
    this.element = h("section", { class: "card", "aria-label": "What happened" }, h("h3", {}, "What happened"), this.list);
  }

  async refresh() {
    const { events } = await read(studyPath(this.study, `/events?limit=${MOST}`));
    const kept = new Map(events.reverse().map((event) => {
      const key = `${event.at} ${event.text}`;
      return [key, this.rows.get(key) ?? row(event)];
    }));
    this.rows = kept;
    setChildren(this.list, ...kept.values());
  }
}

/** The API says arm where the page says configuration; texts with words of users stay as they are. */
function forPeople(kind, data, text) {
  const isOurs = ["state", "arm", "arms", "control", "infeasible", "feasible"].includes(kind) || (kind === "drift" && (data?.arm ?? null) !== null);
  return isOurs ? text.replace(/\barm(s?)\b/g, "configuration$1") : text;
}

function row({ kind, at, text, data }) {
  const isDrift = kind === "drift";
  const isLoud = ["rolled back", "resumed", "infeasible"].includes(kind);
  return h("li", { data: { kind } },
    h("time", { class: "soft small", datetime: at }, moment(at)),
    h("span", { class: "wrap" }, isDrift ? h("strong", { class: "noticed" }, icon(ICONS.change), "Change noticed: ") : null,
      isLoud ? h("strong", {}, forPeople(kind, data, text)) : forPeople(kind, data, text)));
}
