// Light, dark, or as the system has it.

import { ICONS, icon, setAttr } from "./dom.js";

const NAME = "imabo-theme";
const NEXT = { auto: "light", light: "dark", dark: "auto" };
const WORDS = { auto: "as the system", light: "light", dark: "dark" };
const GLYPHS = { auto: ICONS.auto, light: ICONS.sun, dark: ICONS.moon };
const listeners = new Set();

function chosen() {
  return document.documentElement.dataset.theme || "auto";
}

function choose(theme) {
  setAttr(document.documentElement, "data-theme", theme === "auto" ? null : theme);
  try {
    localStorage.setItem(NAME, theme);
  } catch {
    // it holds until the page is left
  }
}

/** Be told when the colours change; returns what ends it. */
export function onTheme(listener) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function startTheme(button) {
  const show = () => {
    const theme = chosen();
    button.replaceChildren(icon(GLYPHS[theme]));
    button.title = `Colours: ${WORDS[theme]}`;
    setAttr(button, "aria-label", `Colours: ${WORDS[theme]}. Change to ${WORDS[NEXT[theme]]}`);
  };
  button.addEventListener("click", () => {
    choose(NEXT[chosen()]);
    show();
    listeners.forEach((listener) => listener());
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    listeners.forEach((listener) => listener());
  });
  show();
}

/** A colour of the style sheet, as it is now. */
export function colour(name) {
  const probe = document.createElement("span");
  probe.style.color = `var(--${name})`;
  document.body.append(probe);
  const found = getComputedStyle(probe).color;
  probe.remove();
  return found;
}
