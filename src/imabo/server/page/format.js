// Numbers and times as people read them.

const WHOLE = new Intl.NumberFormat("en-GB");
const COMPACT = new Intl.NumberFormat("en-GB", { notation: "compact", maximumFractionDigits: 1 });

export const NOTHING = "–";

/** A count, in full. */
export function whole(n) {
  return n === null || n === undefined ? NOTHING : WHOLE.format(n);
}

/** A count where there is little room. */
export function compact(n) {
  return n === null || n === undefined ? NOTHING : n < 10000 ? WHOLE.format(n) : COMPACT.format(n);
}

/** A reward or another measured number, with three digits that say something. */
export function measure(x) {
  if (x === null || x === undefined || !Number.isFinite(x)) return NOTHING;
  if (x === 0) return "0";
  const size = Math.abs(x);
  if (size >= 1e6 || size < 1e-4) return x.toExponential(2);
  const digits = size >= 1000 ? 0 : size >= 100 ? 1 : size >= 10 ? 2 : 3;
  return new Intl.NumberFormat("en-GB", { minimumFractionDigits: digits, maximumFractionDigits: digits }).format(x);
}

/** An amount of a signal with its unit, never as a power of ten; money has it in front. */
export function amount(x, unit = "") {
  if (x === null || x === undefined || !Number.isFinite(x)) return NOTHING;
  const size = Math.abs(x);
  const isFar = size !== 0 && (size < 1e-12 || size >= 1e15);
  const shown = isFar ? size.toExponential(2) : new Intl.NumberFormat("en-GB", size >= 1000 ? { maximumFractionDigits: 0 } : { maximumSignificantDigits: 3 }).format(size);
  const sign = x < 0 ? "-" : "";
  return ["$", "€", "£", "¥"].includes(unit) ? `${sign}${unit}${shown}` : `${sign}${shown}${unit ? ` ${unit}` : ""}`;
}

/** How often something happens, roughly. */
export function rate(x) {
  return x >= 10 ? compact(Math.round(x)) : x.toFixed(1);
}

/** An interval; an end without a bound is said in words. */
export function interval(ends) {
  if (!ends) return "";
  const [low, high] = ends;
  if (low === null && high === null) return "not known yet";
  if (low === null) return `up to ${measure(high)}`;
  if (high === null) return `from ${measure(low)}`;
  return `${measure(low)} to ${measure(high)}`;
}

/** A share of one, in per cent. */
export function percent(x) {
  if (x === null || x === undefined || !Number.isFinite(x)) return NOTHING;
  const value = 100 * x;
  return `${value.toFixed(value !== 0 && Math.abs(value) < 10 ? 1 : 0)} %`;
}

/** How likely something is, in words. */
export function inTen(chance) {
  if (chance >= 1) return "Certain";
  if (chance < 0.1) return "Less than 1 in 10";
  return chance > 0.9 ? "More than 9 in 10" : `${Math.round(10 * chance)} in 10`;
}

/** How long ago a moment was; `at` in seconds. */
export function ago(at) {
  if (at === null || at === undefined) return "never";
  const seconds = Math.max(0, Date.now() / 1000 - at);
  if (seconds < 5) return "just now";
  if (seconds < 60) return `${Math.floor(seconds)} s ago`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ago`;
  if (seconds < 172800) return `${Math.floor(seconds / 3600)} h ago`;
  return `${Math.floor(seconds / 86400)} days ago`;
}

/** A day; `at` in seconds or as RFC 3339. */
export function day(at) {
  const date = typeof at === "number" ? new Date(at * 1000) : new Date(at);
  return date.toLocaleDateString("en-GB", { day: "numeric", month: "short", year: "numeric" });
}

/** A day with its time; `at` as RFC 3339. */
export function moment(at) {
  return `${day(at)}, ${clock(new Date(at))}`;
}

/** A time of day. */
export function clock(date) {
  return date.toLocaleTimeString("en-GB");
}

/** A parameter's value. */
export function setting(value) {
  if (value === null) return "none";
  if (typeof value === "number") return Number.isInteger(value) ? String(value) : String(Number(value.toPrecision(4)));
  return String(value);
}

/** "1 request", "2 requests". */
export function plural(n, word) {
  return `${whole(n)} ${word}${n === 1 ? "" : "s"}`;
}
