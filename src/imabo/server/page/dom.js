// Building the document. Text is always text: nothing here, or anywhere, parses markup.

const SVG = "http://www.w3.org/2000/svg";

/** An element: `h("button", {class: "main", on: {click: f}}, "Save")`. */
export function h(tag, props = {}, ...children) {
  return fill(document.createElement(tag), props, children);
}

/** An element of index.html, by its id. */
export function byId(id) {
  const found = document.getElementById(id);
  if (found === null) throw new Error(`index.html has no element with the id ${id}`);
  return found;
}

/** An element of a drawing. */
export function s(tag, props = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), props, children);
}

function fill(element, props, children) {
  for (const [name, value] of Object.entries(props)) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "on") {
      for (const [event, listener] of Object.entries(value)) element.addEventListener(event, listener);
    } else if (name === "data") {
      Object.assign(element.dataset, value);
    } else if (name === "value") {
      element.value = value;
    } else {
      element.setAttribute(name, value === true ? "" : String(value));
    }
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
}

/** Change a text only when it is another one, so that nothing flickers and selections stay. */
export function setText(element, text) {
  const wanted = String(text);
  if (element.textContent !== wanted) element.textContent = wanted;
}

/** Set an attribute, or remove it when the value is null or false. */
export function setAttr(element, name, value) {
  if (value === null || value === undefined || value === false) element.removeAttribute(name);
  else if (element.getAttribute(name) !== String(value)) element.setAttribute(name, String(value));
}

/** Replace the children only when they are others. */
export function setChildren(element, ...children) {
  const wanted = children.flat().filter((child) => child !== null && child !== undefined);
  const same = wanted.length === element.childNodes.length
    && wanted.every((child, i) => child === element.childNodes[i]);
  if (!same) element.replaceChildren(...wanted);
}

/** A small icon by its path, for beside a text or with a label of its own. */
export function icon(path, size = 16) {
  return s("svg", {
    viewBox: "0 0 16 16", width: size, height: size, "aria-hidden": "true", fill: "none",
    stroke: "currentColor", "stroke-width": 1.5, "stroke-linecap": "round", "stroke-linejoin": "round",
  }, s("path", { d: path }));
}

export const ICONS = {
  plus: "M8 3v10M3 8h10",
  down: "M8 2.5v8M4.5 7.5 8 11l3.5-3.5M3 13.5h10",
  space: "M2.5 4.5h11M2.5 8h11M2.5 11.5h11M5.5 3v3M10.5 6.5v3M6.5 10v3",
  more: "M3.5 8h.01M8 8h.01M12.5 8h.01",
  change: "M2 4.5h4.5l3 7H14M11.5 9l2.5 2.5-2.5 2.5",
  copy: "M5.5 5.5h8v8h-8zM10.5 5.5v-3h-8v8h3",
  sun: "M8 5a3 3 0 1 0 0 6 3 3 0 0 0 0-6zM8 1v1.5M8 13.5V15M1 8h1.5M13.5 8H15M3 3l1 1M12 12l1 1M3 13l1-1M12 4l1-1",
  moon: "M13 9.5A5.5 5.5 0 0 1 6.5 3 5.5 5.5 0 1 0 13 9.5z",
  auto: "M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2zM8 2v12M8 5h4.5M8 8h6M8 11h4.5",
  back: "M6 3 2.5 6.5 6 10M2.5 6.5h7a4 4 0 0 1 0 8H6",
  key: "M9.5 6.5a3 3 0 1 0-1.8 2.7L9 10.5h2v2h2.5v-2.3L9.3 7.2",
};
