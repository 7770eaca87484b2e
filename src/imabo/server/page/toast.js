// Short words about what was just done, and the clipboard.

import { byId, h } from "./dom.js";

const SHOWN_MS = 4000;

export function toast(text) {
  const box = h("div", { class: "toast" }, text);
  byId("toasts").append(box);
  setTimeout(() => box.remove(), SHOWN_MS);
}

/** Copy a text, also where the page is not served safely and the clipboard is out of reach. */
export async function copy(text, what) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = h("textarea", { class: "visually-hidden", "aria-hidden": "true", value: text });
    (document.querySelector("dialog[open]") || document.body).append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
  toast(`${what} copied`);
}
