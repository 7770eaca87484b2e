// Small drawings within the page: sparklines and ranges.

import { s, setAttr } from "./dom.js";

/** A line of a few numbers, with a dashed one at a level to compare with. */
export function spark(values, level = null, [width, height] = [132, 48]) {
  const known = values.filter((value) => value !== null);
  if (known.length < 2) return s("svg", { class: "spark", viewBox: `0 0 ${width} ${height}`, "aria-hidden": "true" });
  const all = level === null ? known : [...known, level];
  const low = Math.min(...all);
  const high = Math.max(...all);
  const y = (value) => (high === low ? height / 2 : 4 + (height - 8) * (1 - (value - low) / (high - low)));
  const points = known.map((value, i) => [((width - 6) * i) / (known.length - 1), y(value)]);
  const line = points.map(([px, py], i) => `${i ? "L" : "M"}${px.toFixed(1)} ${py.toFixed(1)}`).join("");
  const [endX, endY] = points.at(-1);
  return s("svg", { class: "spark", viewBox: `0 0 ${width} ${height}`, "aria-hidden": "true" },
    s("path", { class: "fill", d: `${line}L${endX} ${height}L0 ${height}Z` }),
    level === null ? null : s("line", { class: "zero", x1: 0, x2: width, y1: y(level), y2: y(level) }),
    s("path", { class: "line", d: line }),
    s("circle", { class: "dot", cx: endX, cy: endY, r: 3 }));
}

/** A mean with its interval between two ends; `move` it when the numbers change. */
export class Range {
  constructor(width = 92) {
    this.width = width;
    this.span = s("line", { class: "span", y1: 7, y2: 7 });
    this.point = s("circle", { class: "point", cy: 7, r: 4 });
    this.element = s("svg", { class: "range", viewBox: `0 0 ${width} 14`, preserveAspectRatio: "none", "aria-hidden": "true" },
      s("line", { class: "track", x1: 0, x2: width, y1: 7, y2: 7 }), this.span, this.point);
  }

  move(mean, ends, [low, high]) {
    const inner = this.width - 10;
    const x = (value) => 5 + inner * Math.min(1, Math.max(0, high === low ? 0.5 : (value - low) / (high - low)));
    const isKnown = mean !== null && mean !== undefined;
    this.element.style.visibility = isKnown ? "" : "hidden";
    if (!isKnown) return;
    setAttr(this.span, "x1", x(ends?.[0] ?? low).toFixed(1));
    setAttr(this.span, "x2", x(ends?.[1] ?? high).toFixed(1));
    setAttr(this.point, "cx", x(mean).toFixed(1));
  }
}
