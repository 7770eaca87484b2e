// Adding a configuration by hand: a form made from the space, or JSON.

import { studyPath, write } from "./api.js";
import { openDialog } from "./dialogs.js";
import { h, setAttr } from "./dom.js";
import { setting } from "./format.js";
import { json, rangeOf } from "./settings.js";
import { toast } from "./toast.js";

export function addArm(study, space, start, changed) {
  const form = new ConfigForm(space, start);
  const area = h("textarea", { class: "code-area", spellcheck: "false", "aria-label": "The configuration as JSON" });
  const asForm = h("button", { type: "button", "aria-pressed": "true", on: { click: () => turn(false) } }, "Form");
  const asJson = h("button", { type: "button", "aria-pressed": "false", on: { click: () => turn(true) } }, "JSON");
  area.hidden = true;
  const { fail } = openDialog({
    title: "Add a configuration", action: "Add", isWide: true,
    lead: "It is served like any other, so that you see how good it is.",
    body: [h("div", { class: "choices", role: "group", "aria-label": "How to write it" }, asForm, asJson), form.element, area],
    run: async () => {
      const arm = await write("POST", studyPath(study, "/arms"), { config: area.hidden ? form.read() : parsed(area) });
      toast(`Configuration ${arm.id} is ${arm.state}`);
      await changed();
    },
  });

  function turn(isJson) {
    fail(null);
    try {
      if (isJson) area.value = json(form.read());
      else form.write(parsed(area));
    } catch (error) {
      fail(error);
      if (!isJson) return;
      area.value = json(form.values);
    }
    area.hidden = !isJson;
    form.element.hidden = isJson;
    setAttr(asJson, "aria-pressed", String(isJson));
    setAttr(asForm, "aria-pressed", String(!isJson));
  }
}

/** The object in a text area, or an error that says what is wrong with it. */
export function parsed(area) {
  let value;
  try {
    value = JSON.parse(area.value);
  } catch (error) {
    setAttr(area, "aria-invalid", "true");
    throw new Error(`this is not JSON: ${error.message}`);
  }
  setAttr(area, "aria-invalid", null);
  if (value === null || typeof value !== "object" || Array.isArray(value)) throw new Error("it must be a JSON object");
  return value;
}

export class ConfigForm {
  constructor(space, start) {
    this.space = space;
    this.values = {};
    this.fields = new Map(space.parameters.map((parameter, i) => [parameter.name, this.field(parameter, `setting-${i}`)]));
    this.element = h("div", { class: "config-form" }, [...this.fields.values()].map((field) => field.element));
    this.write(start || {});
  }

  field(parameter, id) {
    const input = parameter.type === "choice"
      ? h("select", { id }, parameter.values.map((value, i) => h("option", { value: String(i) }, setting(value))))
      : h("input", { id, inputmode: parameter.type === "int" ? "numeric" : "decimal", autocomplete: "off" });
    input.addEventListener("input", () => this.appear());
    const hint = parameter.type === "choice" ? null : h("span", { class: "hint", id: `${id}-hint` }, rangeOf(parameter));
    if (hint) setAttr(input, "aria-describedby", `${id}-hint`);
    const element = h("div", { class: "field" }, h("label", { for: id }, parameter.name), input, hint);
    return { parameter, input, element };
  }

  /** The value in a field, undefined when it is none. */
  valueOf({ parameter, input }) {
    if (parameter.type === "choice") return parameter.values[Number(input.value)];
    const text = input.value.trim().replace(",", ".");
    return text === "" || !Number.isFinite(Number(text)) ? undefined : Number(text);
  }

  /** Parameters are active or not by the values of those before them. */
  appear() {
    this.values = {};
    for (const [name, field] of this.fields) {
      const isActive = isMet(field.parameter.when, this.values);
      field.element.hidden = !isActive;
      const value = this.valueOf(field);
      if (isActive && value !== undefined) this.values[name] = value;
    }
  }

  read() {
    this.appear();
    for (const [name, field] of this.fields) {
      if (!field.element.hidden && !(name in this.values)) {
        setAttr(field.input, "aria-invalid", "true");
        field.input.focus();
        throw new Error(`${name} needs a number: ${rangeOf(field.parameter)}`);
      }
      setAttr(field.input, "aria-invalid", null);
    }
    return { ...this.values };
  }

  write(config) {
    for (const [name, { parameter, input }] of this.fields) {
      const value = name in config ? config[name] : middle(parameter);
      if (parameter.type === "choice") input.value = String(Math.max(0, parameter.values.indexOf(value)));
      else input.value = String(value);
    }
    this.appear();
  }
}

function isMet(when, values) {
  return Object.entries(when || {}).every(([name, wanted]) =>
    name in values && (Array.isArray(wanted) ? wanted : [wanted]).includes(values[name]));
}

/** A number to begin with: half-way on the parameter's scale, on its grid. */
function middle({ type, values, low, high, log, step }) {
  if (type === "choice") return values[0];
  const half = log ? Math.sqrt(low * high) : (low + high) / 2;
  const grid = step || (type === "int" ? 1 : 0);
  const value = grid && !log ? low + grid * Math.round((half - low) / grid) : half;
  return type === "int" ? Math.round(value) : Number(value.toPrecision(6));
}
