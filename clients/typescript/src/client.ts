import type { components, paths } from "./api.js";
import { ImaboError, show } from "./errors.js";
import { type Call, type Fetch, object } from "./http.js";
import type { Log } from "./outbox.js";
import { Session } from "./session.js";
import { type Condition, type Config, type ConfigOf, type Parameters, spaceOf } from "./space.js";
import { type Facts, Study } from "./study.js";

type Declaration = components["schemas"]["StudyBody"];
type DeclaredAnswer = components["schemas"]["DeclaredAnswer"];

export interface ClientOptions {
  /** Where the service asks for one: the text that `imabo keys create` showed. */
  key?: string;
  /** For one attempt, in seconds: 5 by default. */
  timeoutS?: number;
  /** How many attempts follow a failed one: 3 by default. */
  retries?: number;
  /** Rewards that are kept at most while the service is away: 10,000 by default. */
  outboxSize?: number;
  /** How long `close` and the end of the program wait for what is to be sent: 5 by default. */
  flushS?: number;
  /**
   * Whether SIGTERM, where the program has no handler of its own, sends what waits before it ends
   * a Node program: true by default.
   */
  handleSigterm?: boolean;
  /** Instead of the global one. */
  fetch?: Fetch;
  /** Where trouble is reported, each kind at most once a minute: the console by default. */
  log?: Log;
}

/** What a study is created with, besides its name and its parameters; see the HTTP API. */
export type StudySettings = Omit<Declaration, "name" | "space"> & { forbid?: readonly Condition[] };

type Method = "get" | "post" | "put" | "patch" | "delete";
/** The paths of the API that have an operation of this method. */
type PathOf<M extends Method> = {
  [P in keyof paths]: paths[P][M] extends { responses: unknown } ? P : never;
}[keyof paths];
type InPath<O> = O extends { parameters: { path: infer T } } ? { path: T } : { path?: never };
type InQuery<O> = O extends { parameters: { query?: infer T } } ? { query?: T } : { query?: never };
type InBody<O> = O extends { requestBody: { content: { "application/json": infer T } } }
  ? { body: T }
  : O extends { requestBody?: { content: { "application/json": infer T } } } ? { body?: T }
  : { body?: never };
/** The rest of the arguments: needed where the operation has a path to fill in, or a body. */
type Given<O> = O extends { parameters: { path: object } } | { requestBody: object }
  ? [options: InPath<O> & InQuery<O> & InBody<O>]
  : [options?: InPath<O> & InQuery<O> & InBody<O>];
type Good<R> = R[Extract<keyof R, 200 | 201 | 202 | 204>];
type Json<A> = A extends { content: { "application/json": infer T } } ? T : undefined;
type JsonOf<O> = O extends { responses: infer R } ? Json<Good<R>> : never;

/**
 * A client of the service. Make one for a process and keep it: it holds the rewards that are still
 * to be sent.
 */
export class Client {
  readonly url: string;
  readonly #session: Session;

  constructor(url: string, options: ClientOptions = {}) {
    const { key, timeoutS = 5, retries = 3, outboxSize = 10_000, log = toConsole } = options;
    const { flushS = 5, handleSigterm = true } = options;
    this.url = checkedUrl(url);
    checkNumber("timeoutS", timeoutS, 0.001, 86_400);
    checkNumber("flushS", flushS, 0, 86_400);
    checkNumber("retries", retries, 0, 1_000_000, true);
    checkNumber("outboxSize", outboxSize, 1, 1_000_000_000, true);
    const fetch: Fetch = options.fetch ?? ((to, init) => globalThis.fetch(to, init));
    const service = { url: this.url, headers: keyHeader(key), timeoutS, retries, fetch };
    this.#session = new Session(service, outboxSize, { flushS, handleSigterm }, log);
  }

  /** Start a study, or go on with the same one when it exists. */
  async create<const P extends Parameters>(
    name: string,
    parameters: P,
    settings: StudySettings = {},
  ): Promise<Study<ConfigOf<P>>> {
    const { forbid, ...others } = settings;
    const space = spaceOf(parameters, forbid);
    const body: Declaration = { name, space, ...others };
    const call: Call = { method: "POST", path: "/v1/studies", body };
    const facts = await this.#session.call(call, (found) => object<DeclaredAnswer>(found));
    if (facts.why) this.#session.log("warn", `study '${name}' goes on as it is: ${facts.why}`);
    return new Study<ConfigOf<P>>(this.#session, facts.name, facts, space);
  }

  /** Go on with a study that exists; `"unknown_study"` when it does not. */
  async open<C extends object = Config>(name: string): Promise<Study<C>> {
    const facts: Facts = await new Study(this.#session, name).facts();
    return new Study<C>(this.#session, facts.name, facts);
  }

  /** A study by its name, without asking the service whether it exists. */
  study<C extends object = Config>(name: string): Study<C> {
    return new Study<C>(this.#session, name);
  }

  /** The names of all studies that the key may see, in alphabetical order. */
  async studies(): Promise<string[]> {
    const { studies } = await this.request("get", "/v1/studies");
    return studies.map(({ name }) => name);
  }

  /**
   * Any other operation of the API that speaks JSON, with its types:
   * `client.request("get", "/v1/studies/{study}/lift", { path: { study: "support-answers" } })`.
   */
  async request<M extends Method, P extends PathOf<M>>(
    method: M,
    path: P,
    ...[given]: Given<paths[P][M]>
  ): Promise<JsonOf<paths[P][M]>> {
    const { path: names = {}, query = {}, body } = (given ?? {}) as Record<
      string,
      object | undefined
    >;
    const values = names as Record<string, unknown>;
    const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => segment(name, values[name]));
    const search = new URLSearchParams();
    for (const [name, value] of Object.entries(query)) {
      if (value !== undefined && value !== null) search.append(name, String(value));
    }
    const call: Call = {
      method: method.toUpperCase(),
      path: String(search) === "" ? filled : `${filled}?${search}`,
      ...(body !== undefined && { body }),
    };
    return this.#session.call(call, (found) => found as JsonOf<paths[P][M]>);
  }

  /** Rewards and signals that the service has not acknowledged yet. */
  get nWaiting(): number {
    return this.#session.outbox.nWaiting;
  }

  /** Those that were given up: the outbox was full, or the client was closed too early. */
  get nDropped(): number {
    return this.#session.outbox.nDropped;
  }

  /** Those that the service refused when they were sent in the background; see the log. */
  get nRefused(): number {
    return this.#session.outbox.nRefused;
  }

  /** Wait until nothing is left to send, for so long at most; true when that is so. */
  flush(timeoutS = 5): Promise<boolean> {
    return this.#session.outbox.flush(timeoutS);
  }

  /** Send what waits, for at most `flushS`; what is left then is lost, and the log says so. */
  close(): Promise<void> {
    return this.#session.close(this.#session.flushS);
  }

  /** `await using client = new Client(...)` closes it. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

function segment(name: string, value: unknown): string {
  if (value === undefined || value === "") throw refused(name, value, "the path needs it");
  const text = String(value);
  return /^\.+$/.test(text) ? text.replaceAll(".", "%2E") : encodeURIComponent(text);
}

function checkNumber(
  name: string,
  value: unknown,
  low: number,
  high: number,
  isWhole = false,
): void {
  const isGood = typeof value === "number" && low <= value && value <= high;
  if (!isGood || (isWhole && !Number.isInteger(value))) {
    const kind = isWhole ? "an integer" : "a number";
    throw refused(name, value, `it must be ${kind} from ${low} to ${high}`);
  }
}

function checkedUrl(url: string): string {
  try {
    const { protocol, username, password, search, hash } = new URL(url);
    const isPlain = username === "" && password === "" && search === "" && hash === "";
    if (/^https?:$/.test(protocol) && isPlain) return url.replace(/\/+$/, "");
  } catch {
    // what is no address is refused below
  }
  const why = "it must be the address of the service: http or https, no name or password";
  throw refused("url", url, why);
}

function keyHeader(key: string | undefined): Record<string, string> {
  if (key === undefined) return {};
  // Its value must not end up in a log, so the message leaves it out.
  if (typeof key !== "string" || !/^[!-~]+$/.test(key)) {
    throw new ImaboError(
      "invalid_setting",
      `key is a ${typeof key} that cannot be one`,
      "it must be the text that 'imabo keys create' showed",
      "pass that text, or leave key out",
    );
  }
  return { Authorization: `Bearer ${key}` };
}

function refused(name: string, value: unknown, why: string): ImaboError {
  return new ImaboError(
    "invalid_setting",
    `${name} is ${show(value)}`,
    why,
    `pass another ${name}`,
  );
}

function toConsole(level: "info" | "warn", text: string): void {
  console[level](`imabo: ${text}`);
}
