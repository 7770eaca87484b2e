// The one word that says how a study does, and how a configuration does.

import { h, setAttr, setText } from "./dom.js";

const TONES = {
  learning: "accent", settled: "good", "warming up": "accent", empty: "", "no feedback": "warn",
  "rolled back": "bad", "control draw": "", idle: "", stalled: "warn", active: "good", paused: "warn", retired: "",
  delivered: "good", waiting: "accent", "given up": "bad",
};

export function pill(word = "") {
  const element = h("span", { class: "pill" });
  setPill(element, word);
  return element;
}

export function setPill(element, word) {
  setText(element, word || "…");
  setAttr(element, "data-tone", TONES[word] || null);
}
