// Dialogs: one at a time, on the browser's own <dialog>, which keeps and returns the focus.

import { Away } from "./api.js";
import { h, setText } from "./dom.js";

let counted = 0;

/**
 * Open a dialog with a form in it.
 *
 * @param {object} options
 * @param {string} options.title What it is about.
 * @param {string} [options.lead] A sentence under the title.
 * @param {Node[]} [options.body] What it holds.
 * @param {string} options.action Words of the button that does it.
 * @param {boolean} [options.isDanger] Whether that cannot be undone.
 * @param {boolean} [options.isWide] Whether it needs room.
 * @param {() => Promise<void>} options.run Does it; what it throws is shown and the dialog stays.
 * @returns {{dialog: HTMLDialogElement, submit: HTMLButtonElement, fail: (error: unknown) => void}}
 */
export function openDialog({ title, lead = "", body = [], action, isDanger = false, isWide = false, run }) {
  const id = `dialog-${(counted += 1)}`;
  const problem = h("p", { class: "note problem", role: "alert", hidden: true, data: { tone: "bad" } });
  const submit = h("button", { type: "submit", class: isDanger ? "main danger" : "main" }, action);
  const cancel = h("button", { type: "button", on: { click: () => dialog.close() } }, "Cancel");
  const form = h("form", { method: "dialog", novalidate: true, on: { submit: onSubmit } },
    h("div", { class: "dialog-head" },
      h("h2", { id: `${id}-title`, class: "wrap" }, title),
      lead ? h("p", { class: "soft wrap", id: `${id}-lead` }, lead) : null),
    body.length ? h("div", { class: "dialog-body", tabindex: "-1" }, body) : null,
    h("div", { class: "dialog-foot" }, problem, cancel, submit));
  const dialog = h("dialog", {
    class: isWide ? "wide" : null, "aria-labelledby": `${id}-title`,
    "aria-describedby": lead ? `${id}-lead` : null,
  }, form);

  function fail(error) {
    problem.hidden = error === null;
    if (error !== null) setText(problem, wordsOf(error));
  }

  async function onSubmit(event) {
    event.preventDefault();
    if (submit.disabled) return;
    submit.disabled = true;
    fail(null);
    try {
      await run();
      dialog.close();
    } catch (error) {
      fail(error);
      submit.disabled = false;
    }
  }

  // Whoever goes back has left what the dialog is about.
  const leave = () => dialog.close();
  addEventListener("hashchange", leave);
  dialog.addEventListener("close", () => {
    removeEventListener("hashchange", leave);
    dialog.remove();
  });
  document.body.append(dialog);
  dialog.showModal();
  if (isDanger && !body.length) cancel.focus();
  return { dialog, submit, fail };
}

/** An error as people read it. */
export function wordsOf(error) {
  if (error instanceof Away) return "The server does not answer. Nothing was changed; try again.";
  const text = error.message || String(error);
  return text.charAt(0).toUpperCase() + text.slice(1);
}
