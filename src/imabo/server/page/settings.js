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
  const rows = space.parameters.map((parameter) => [
    parameter.name,
    parameter.type === "choice" && parameter.ordered ? "ordered choice" : KINDS[parameter.type],
    rangeOf(parameter),
    Object.keys(parameter.when || {}).length ? `when ${clause(parameter.when)}` : "always",
  ]);
  const forbid = (space.forbid || []).map((one) => h("li", { class: "wrap" }, `Never: ${clause(one)}`));
  return [
    h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "The parameters of the space" },
      table(["Parameter", "Kind", "Values", "Active"], rows)),
    forbid.length ? h("ul", { class: "table-foot" }, forbid) : null,
  ];
}

/** A table whose rows become cards on a phone; roles say what it is when they are no table to CSS. */
export function table(heads, rows) {
  return h("table", { class: "space-table", role: "table" },
    h("thead", { role: "rowgroup" }, h("tr", { role: "row" }, heads.map((word) => h("th", { scope: "col", role: "columnheader" }, word)))),
    h("tbody", { role: "rowgroup" }, tableRows(heads, rows)));
}

export function tableRows(heads, rows) {
  return rows.map(([name, ...cells]) => h("tr", { role: "row" },
    h("th", { scope: "row", role: "rowheader", class: "wrap" }, name),
    cells.map((text, i) => h("td", { role: "cell", class: "wrap", data: { label: heads[i + 1] } }, text))));
}
