// What differs between two spaces, line by line.

import { h } from "./dom.js";
import { setting } from "./format.js";
import { clause, rangeOf } from "./settings.js";

/** A line for each parameter, and each forbidden combination, that is new, gone or different. */
export function differences(before, after) {
  const [old, now] = [before, after].map((space) => new Map(listOf(space.parameters).map((one) => [one.name, one])));
  const lines = [...now].flatMap(([name, one]) => (old.has(name) ? changed(name, old.get(name), one) : [line("added", name, words(one))]));
  for (const [name, one] of old) if (!now.has(name)) lines.push(line("gone", name, words(one)));
  const [had, has] = [before, after].map((space) => listOf(space.forbid).map((one) => JSON.stringify(one)));
  for (const text of has) if (!had.includes(text)) lines.push(line("added", "Never", clause(JSON.parse(text))));
  for (const text of had) if (!has.includes(text)) lines.push(line("gone", "Never", clause(JSON.parse(text))));
  return lines;
}

function changed(name, old, one) {
  if (JSON.stringify(old) === JSON.stringify(one)) return [];
  if (old.type === "choice" && one.type === "choice") {
    const keys = [old, one].map((side) => listOf(side.values).map((value) => JSON.stringify(value)));
    const parts = listOf(one.values).map((value) => (keys[0].includes(JSON.stringify(value)) ? h("span", {}, setting(value)) : h("ins", {}, setting(value))));
    for (const value of listOf(old.values)) if (!keys[1].includes(JSON.stringify(value))) parts.push(h("del", {}, setting(value)));
    const isSame = JSON.stringify(when(old)) === JSON.stringify(when(one));
    return [line("changed", name, ...parts.flatMap((part, i) => (i ? [", ", part] : [part])), isSame ? null : ` (active ${activeWords(one)})`)];
  }
  return [line("changed", name, h("del", {}, words(old)), " ", h("ins", {}, words(one)))];
}

function line(kind, name, ...parts) {
  const mark = { added: "New", gone: "Gone", changed: "Changed" }[kind];
  return h("li", { data: { kind } }, h("span", { class: "mark" }, mark), h("b", { class: "wrap" }, name), h("span", { class: "wrap" }, ...parts));
}

function words(parameter) {
  const range = parameter.type === "choice" ? listOf(parameter.values).map(setting).join(", ") : rangeOf(parameter);
  return Object.keys(when(parameter)).length ? `${range} (active ${activeWords(parameter)})` : range;
}

function when(parameter) {
  return parameter.when || {};
}

function activeWords(parameter) {
  return Object.keys(when(parameter)).length ? `when ${clause(when(parameter))}` : "always";
}

function listOf(value) {
  return Array.isArray(value) ? value : [];
}
