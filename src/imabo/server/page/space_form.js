// A space as a form: values of choices one on a line, numbers by their ends.

import { h, setChildren } from "./dom.js";
import { clause } from "./settings.js";

const NEW = {
  choice: { type: "choice", values: [] }, float: { type: "float", low: 0, high: 1 }, int: { type: "int", low: 1, high: 10 },
};
const KINDS = { choice: "choice", float: "number", int: "whole number" };
let counted = 0;

export class SpaceForm {
  /** @param {() => void} changed Is told of every change by hand. */
  constructor(space, changed) {
    this.changed = changed;
    this.space = space;
    this.list = h("div", { class: "stack" });
    const kind = h("select", { "aria-label": "Kind of the new parameter" }, Object.entries(KINDS).map(([value, words]) => h("option", { value }, words)));
    const add = h("button", { type: "button", on: { click: () => this.add(kind.value) } }, "Add a parameter");
    this.element = h("div", { class: "space-form" }, this.list, h("div", { class: "row add" }, kind, add));
    this.write(space);
  }

  /** Show a space; what it has that the form does not know is kept. */
  write(space) {
    const parameters = Array.isArray(space.parameters) ? space.parameters : [];
    this.space = space;
    this.fields = parameters.map((one) => new Field(one, false, this));
    this.arrange();
  }

  read() {
    return { ...this.space, parameters: this.fields.map((field) => field.read()) };
  }

  add(kind) {
    const field = new Field({ name: "", ...structuredClone(NEW[kind]) }, true, this);
    this.fields.push(field);
    this.arrange();
    this.changed();
    field.name.focus();
  }

  remove(field) {
    this.fields = this.fields.filter((one) => one !== field);
    this.arrange();
    this.changed();
  }

  arrange() {
    setChildren(this.list, ...this.fields.map((field) => field.element));
  }
}

class Field {
  constructor(parameter, isNew, form) {
    const id = `space-field-${(counted += 1)}`;
    this.parameter = parameter;
    this.inputs = {};
    this.name = isNew ? h("input", { "aria-label": "Name of the new parameter", placeholder: "name", on: { input: () => form.changed() } }) : null;
    const gone = h("button", { type: "button", class: "small danger", "aria-label": `Remove ${parameter.name || "the new parameter"}`, on: { click: () => form.remove(this) } }, "Remove");
    const hint = Object.keys(parameter.when || {}).length ? h("p", { class: "hint" }, `Active when ${clause(parameter.when)}`) : null;
    this.element = h("fieldset", {}, h("legend", {}, this.name ? `New ${KINDS[parameter.type] || ""}` : `${parameter.name}, ${KINDS[parameter.type] || parameter.type}`),
      this.name, this.body(id, form), hint, gone);
  }

  body(id, form) {
    const { parameter } = this;
    const told = { input: () => form.changed() };
    if (parameter.type === "choice") {
      const values = Array.isArray(parameter.values) ? parameter.values : [];
      this.inputs.values = h("textarea", { id, rows: Math.min(Math.max(values.length, 2), 8), spellcheck: "false", value: values.map(written).join("\n"), on: told });
      return h("div", { class: "field" }, h("label", { for: id }, "Values, one on a line"), this.inputs.values);
    }
    const ends = ["low", "high", "step"].map((name) => {
      this.inputs[name] = h("input", { id: `${id}-${name}`, inputmode: "decimal", autocomplete: "off", value: parameter[name] ?? "", on: told });
      return h("div", { class: "field" }, h("label", { for: `${id}-${name}` }, { low: "From", high: "To", step: "Step" }[name]), this.inputs[name]);
    });
    return h("div", { class: "ends" }, ends);
  }

  /** The parameter as the form has it; what is no number stays as it is written, for the server to refuse. */
  read() {
    const made = { ...this.parameter };
    if (this.name) made.name = this.name.value;
    if (this.inputs.values) made.values = this.inputs.values.value.split("\n").filter((text) => text.trim() !== "").map(valueOf);
    for (const name of ["low", "high", "step"]) {
      const input = this.inputs[name];
      if (!input) continue;
      const text = input.value.trim().replace(",", ".");
      if (text === "" && name === "step") {
        if (name in made) made[name] = this.parameter.type === "int" && this.parameter.step === 1 ? 1 : null;
      } else made[name] = text === "" || !Number.isFinite(Number(text)) ? input.value : Number(text);
    }
    return made;
  }
}

/** A value on a line: a text that would be read as something else is in quotes. */
function written(value) {
  if (typeof value !== "string") return JSON.stringify(value);
  return valueOf(value) === value && !value.includes("\n") ? value : JSON.stringify(value);
}

function valueOf(text) {
  const trimmed = text.trim();
  try {
    const value = JSON.parse(trimmed);
    if (value === null || ["string", "number", "boolean"].includes(typeof value)) return value;
  } catch {
    // a plain text
  }
  return trimmed;
}
