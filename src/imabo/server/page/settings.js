// A configuration as words, and a space as a table.

import { h } from "./dom.js";
import { setting } from "./format.js";

/** A configuration in one flowing line. */
export function settings(config) {
  return h("div", { class: "settings" }, Object.entries(config).map(([name, value]) =>
    h("span", {}, h("i", {}, name), setting(value))));
}

/** A configuration as a list of names and values, and more of them below. */
export function pairs(config, more = []) {
  const rows = [...Object.entries(config).map(([name, value]) => [name, setting(value)]), ...more];
  return h("dl", { class: "pairs" }, rows.flatMap(([name, text]) => [h("dt", {}, name), h("dd", {}, text)]));
}

export function json(value) {
  return JSON.stringify(value, null, 2);
}

/** What a parameter may be, in words. */
export function rangeOf(parameter) {
  if (parameter.type === "choice") return parameter.values.map(setting).join(", ");
  const scale = parameter.log ? ", logarithmic" : "";
  const hasStep = parameter.step !== null && parameter.step !== undefined && !(parameter.type === "int" && parameter.step === 1);
  return `${setting(parameter.low)} to ${setting(parameter.high)}${hasStep ? `, step ${setting(parameter.step)}` : ""}${scale}`;
}

/** When a parameter is active, or what is forbidden, in words. */
export function clause(when) {
  return Object.entries(when).map(([name, value]) => {
    const values = Array.isArray(value) ? value : [value];
    return `${name} is ${values.map(setting).join(" or ")}`;
  }).join(" and ");
}

const KINDS = { choice: "choice", float: "number", int: "whole number" };

export function spaceTable(space) {
  const rows = space.parameters.map((parameter) => h("tr", {},
    h("th", { scope: "row", class: "wrap" }, parameter.name),
    h("td", {}, parameter.type === "choice" && parameter.ordered ? "ordered choice" : KINDS[parameter.type]),
    h("td", { class: "wrap" }, rangeOf(parameter)),
    h("td", { class: "wrap" }, Object.keys(parameter.when || {}).length ? `when ${clause(parameter.when)}` : "always")));
  const head = h("tr", {}, ["Parameter", "Kind", "Values", "Active"].map((word) => h("th", { scope: "col" }, word)));
  const forbid = (space.forbid || []).map((one) => h("li", { class: "wrap" }, `Never: ${clause(one)}`));
  return [
    h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "The parameters of the space" },
      h("table", { class: "space-table" }, h("thead", {}, head), h("tbody", {}, rows))),
    forbid.length ? h("ul", { class: "table-foot" }, forbid) : null,
  ];
}
