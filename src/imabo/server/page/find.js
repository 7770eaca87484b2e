// Finding one request: what it was served with, and what became of it.

import { Problem, read } from "./api.js";
import { wordsOf } from "./dialogs.js";
import { h, setText } from "./dom.js";
import { measure, moment } from "./format.js";
import { settings } from "./settings.js";

const STATES = { pending: "waiting for feedback", rewarded: "with feedback", expired: "no feedback in time" };

export class Find {
  constructor(study) {
    this.study = study;
    this.input = h("input", { id: "find-request", class: "search", autocomplete: "off", spellcheck: "false", placeholder: "Its id, such as k3f9x2a7-15" });
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
    setText(this.words, asked ? "Looking…" : "Write the id that your application got with the configuration.");
    if (!asked) return;
    try {
      this.show(await read(`v1/pulls/${encodeURIComponent(asked)}`));
    } catch (error) {
      const isUnknown = error instanceof Problem && [404, 422].includes(error.status);
      setText(this.words, isUnknown ? `No request of this study has the id “${asked}”.` : wordsOf(error));
    }
  }

  show(pull) {
    if (pull.study !== this.study) {
      setText(this.words, `That is a request of another study, “${pull.study}”.`);
      return;
    }
    const came = pull.rewarded_at === null ? "" : `, reward ${measure(pull.reward)} on ${moment(pull.rewarded_at)}`;
    setText(this.words, `Served on ${moment(pull.served_at)} with configuration ${pull.arm}: ${STATES[pull.state]}${came}.`);
    this.found.replaceChildren(settings(pull.config));
    this.found.hidden = false;
  }
}
