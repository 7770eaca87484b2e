// Asking for the key.

import { wordsOf } from "./dialogs.js";
import { h, setText } from "./dom.js";

/** @param {(text: string) => Promise<void>} enter Tries a key; rejects when it does not count. */
export function gateView(words, enter) {
  const input = h("input", {
    id: "key-text", type: "password", autocomplete: "off", spellcheck: "false", required: true,
    placeholder: "imabo_…", "aria-describedby": "key-help",
  });
  const problem = h("p", { class: "note", role: "alert", data: { tone: "bad" }, hidden: words === "" }, words);
  const button = h("button", { class: "main", type: "submit" }, "Open");
  const form = h("form", { class: "card gate", on: { submit } },
    h("h1", {}, "This server asks for a key"),
    h("p", { class: "soft", id: "key-help" },
      "It stays in this browser window and is forgotten when you close it. Whoever runs the server makes keys with ",
      h("code", {}, "imabo keys create"), "."),
    h("div", { class: "field" }, h("label", { for: "key-text" }, "Key"), input),
    problem,
    button);

  async function submit(event) {
    event.preventDefault();
    const text = input.value.trim();
    if (!text) {
      input.focus();
      return;
    }
    button.disabled = true;
    problem.hidden = true;
    try {
      // A header can only hold plain characters; a key has no others.
      if (!/^[\x21-\x7e]+$/.test(text)) throw new Error("this is not a key: it holds spaces or strange characters");
      await enter(text);
    } catch (error) {
      problem.hidden = false;
      setText(problem, error.status === 401 ? "This key does not count: it is unknown or was revoked." : wordsOf(error));
      button.disabled = false;
      input.setAttribute("aria-invalid", "true");
      input.focus();
    }
  }

  return { element: form, start: () => input.focus() };
}
