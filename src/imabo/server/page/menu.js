// A button with a menu.

import { h } from "./dom.js";

/** @param {{label: string, run: () => void, isDanger?: boolean}[]} items */
export function menu(face, items, props = {}) {
  const list = h("div", { role: "menu", hidden: true }, items.map((item) => h("button", {
    type: "button", role: "menuitem", tabindex: "-1", class: item.isDanger ? "danger" : null,
    on: { click: () => { toggle(false); button.focus(); item.run(); } },
  }, item.label)));
  const button = h("button", {
    type: "button", "aria-haspopup": "menu", "aria-expanded": "false", ...props,
    on: { click: () => toggle(list.hidden), keydown: (event) => { if (event.key === "ArrowDown") { event.preventDefault(); toggle(true); } } },
  }, face);
  const box = h("div", { class: "menu", on: { keydown: onKey, focusout: onLeave } }, button, list);

  function toggle(isOpen) {
    list.hidden = !isOpen;
    button.setAttribute("aria-expanded", String(isOpen));
    if (isOpen) list.firstElementChild.focus();
  }

  function onKey(event) {
    const entries = [...list.children];
    const at = entries.indexOf(document.activeElement);
    const moves = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: -1 };
    if (event.key === "Escape" && !list.hidden) {
      toggle(false);
      button.focus();
    } else if (event.key in moves && at >= 0) {
      entries.at(moves[event.key] % entries.length).focus();
      event.preventDefault();
    }
  }

  function onLeave(event) {
    if (!box.contains(event.relatedTarget)) toggle(false);
  }

  return box;
}
