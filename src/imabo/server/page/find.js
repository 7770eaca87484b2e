// Finding one request: what it was served with, and what became of it.

import { Problem, read, studyPath } from "./api.js";
import { wordsOf } from "./dialogs.js";
import { h, setText } from "./dom.js";
import { amount, measure, moment } from "./format.js";
import { settings } from "./settings.js";

const GROUPS = { control: ", as the control", tuned: ", tuned" };
const STATES = { pending: "waiting for feedback", rewarded: "with feedback", expired: "no feedback in time" };

export class Find {
  constructor(study) {
    this.study = study;
    this.units = {};
    this.input = h("input", { id: "find-request", class: "search", autocomplete: "off", spellcheck: "false", placeholder: "Your own key, or the request's id" });
    this.words = h("p", { class: "small soft", role: "status" });
    this.found = h("div", { class: "found", hidden: true });
    this.element = h("section", { class: "card find", "aria-label": "Find a request" },
      h("form", { on: { submit: (event) => this.look(event) } },
        h("label", { for: "find-request" }, "Find a request"), this.input,
        h("button", { type: "submit" }, "Find")), this.words, this.found);
  }

  async look(event) {
    event.preventDefault();
    const asked = this.input.value.trim();
    this.found.hidden = true;
    setText(this.words, asked ? "Looking…" : "Write the key that your application asked with, or the id that it got with the configuration.");
    if (!asked) return;
    try {
      const found = await orNull(() => read(studyPath(this.study, `/keys/${encodeURIComponent(asked)}`)));
      const pull = found ? found.pulls[0] : await orNull(() => read(`v1/pulls/${encodeURIComponent(asked)}`));
      if (pull) this.show(pull, found?.pulls.length ?? 1);
      else setText(this.words, `No request of this study has the key or the id “${asked}”.`);
    } catch (error) {
      setText(this.words, wordsOf(error));
    }
  }

  show(pull, n) {
    if (pull.study !== this.study) {
      setText(this.words, `That is a request of another study, “${pull.study}”.`);
      return;
    }
    const several = n > 1 ? ` The key has ${n} requests; this is the first.` : "";
    const came = pull.rewarded_at === null ? "" : `, reward ${measure(pull.reward)} on ${moment(pull.rewarded_at)}`;
    setText(this.words, `Served on ${moment(pull.served_at)} with configuration ${pull.arm}${GROUPS[pull.group] ?? ""}: ${STATES[pull.state]}${came}.${several}`);
    const signals = Object.entries(pull.signals ?? {}).map(([name, value]) => `${name} ${amount(value, this.units[name])}`);
    this.found.replaceChildren(settings(pull.config), ...(signals.length ? [h("p", { class: "small" }, signals.join(", "))] : []));
    this.found.hidden = false;
  }
}

/** What is read, or null when there is no such thing. */
async function orNull(work) {
  try {
    return await work();
  } catch (error) {
    if (error instanceof Problem && [404, 422].includes(error.status)) return null;
    throw error;
  }
}
