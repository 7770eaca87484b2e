// The service's own HTTP API; everything on the page comes from it.

const KEY = "imabo-key";
const LONGEST_MS = 20000;

/** A refusal: `code` is stable, `what`, `why` and `fix` are for people. */
export class Problem extends Error {
  constructor(status, body) {
    super(body.detail || `The server answered with status ${status}.`);
    this.status = status;
    this.code = body.code || "";
    this.what = body.what || this.message;
    this.why = body.why || "";
    this.fix = body.fix || "";
  }
}

/** The server does not answer, or not for the moment. */
export class Away extends Error {}

const events = new EventTarget();

/** Be told when a key is needed that there is not. */
export function onLocked(listener) {
  events.addEventListener("locked", listener);
}

export function key() {
  return sessionStorage.getItem(KEY);
}

export function setKey(text) {
  if (text) sessionStorage.setItem(KEY, text);
  else sessionStorage.removeItem(KEY);
}

/** The path of a study, and of something of it. */
export function studyPath(name, rest = "") {
  return `v1/studies/${encodeURIComponent(name)}${rest}`;
}

export async function send(method, path, body) {
  /** @type {Record<string, string>} */
  const headers = {};
  const secret = key();
  if (secret) headers.Authorization = `Bearer ${secret}`;
  if (body !== undefined) headers["Content-Type"] = "application/json";
  let response;
  try {
    response = await fetch(path, {
      method, headers, cache: "no-store", credentials: "omit",
      body: body === undefined ? undefined : JSON.stringify(body),
      signal: AbortSignal.timeout(LONGEST_MS),
    });
  } catch {
    throw new Away("the server does not answer");
  }
  if (response.ok) return response;
  const answer = await response.json().catch(() => ({}));
  if (response.status === 401) events.dispatchEvent(new Event("locked"));
  if ([502, 503, 504].includes(response.status)) throw new Away(answer.what || "the server is busy");
  throw new Problem(response.status, answer);
}

/** What a path answers, as a value. */
export async function read(path) {
  return (await send("GET", path)).json();
}

/** Change something, and get what it became. */
export async function write(method, path, body) {
  const response = await send(method, path, body);
  return response.status === 204 ? null : response.json();
}

/** Save what a path answers as a file; by hand, because a link could not send the key. */
export async function download(path, name) {
  const blob = await (await send("GET", path)).blob();
  const url = URL.createObjectURL(blob);
  const link = document.createElement("a");
  link.href = url;
  link.download = name.replace(/[\\/:*?"<>|\u0000-\u001f]+/g, "_");
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
}
