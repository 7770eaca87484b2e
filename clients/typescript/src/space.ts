import type { components } from "./api.js";
import { ImaboError, show } from "./errors.js";

export type Scalar = string | number | boolean | null;
export type Config = Record<string, Scalar>;
/** Values of other parameters: for which one is active, or which are forbidden together. */
export type Condition = Record<string, Scalar | readonly Scalar[]>;
export type SpaceDocument = components["schemas"]["Space"];
type ParameterDocument = SpaceDocument["parameters"][number];

/** A parameter whose values are of type T; one with `when` may be missing in a configuration. */
export interface Parameter<T> {
  readonly document: Omit<ParameterDocument, "name">;
  /** Never there: it carries the type. */
  readonly value?: T;
}

/** The parameters of a space by name, in their order. */
export type Parameters = Record<string, Parameter<Scalar | undefined>>;
type ValueOf<P> = P extends Parameter<infer T> ? T : never;
/** Those with `when`. */
type Conditional<P extends Parameters> = {
  [Name in keyof P]: undefined extends ValueOf<P[Name]> ? Name : never;
}[keyof P];
/** The configurations of a space: a parameter with `when` is there or not. */
export type ConfigOf<P extends Parameters> =
  & {
    [Name in Exclude<keyof P, Conditional<P>>]: ValueOf<P[Name]>;
  }
  & { [Name in Conditional<P>]?: Exclude<ValueOf<P[Name]>, undefined> };

interface Active {
  when: Condition;
}
interface Numeric {
  log?: boolean;
  step?: number;
  when?: Condition;
}
interface Listed {
  ordered?: boolean;
  when?: Condition;
}

/** A number from `low` to `high`, on a logarithmic scale with `log`. */
export function float(
  low: number,
  high: number,
  options: Numeric & Active,
): Parameter<number | undefined>;
export function float(low: number, high: number, options?: Numeric): Parameter<number>;
export function float(low: number, high: number, options: Numeric = {}): Parameter<number> {
  return { document: { type: "float", low, high, ...options } as Parameter<number>["document"] };
}

/** An integer from `low` to `high`, both included. */
export function int(
  low: number,
  high: number,
  options: Numeric & Active,
): Parameter<number | undefined>;
export function int(low: number, high: number, options?: Numeric): Parameter<number>;
export function int(low: number, high: number, options: Numeric = {}): Parameter<number> {
  return { document: { type: "int", low, high, ...options } as Parameter<number>["document"] };
}

/** One of the listed values. */
export function choice<const V extends readonly Scalar[]>(
  values: V,
  options: Listed & Active,
): Parameter<V[number] | undefined>;
export function choice<const V extends readonly Scalar[]>(
  values: V,
  options?: Listed,
): Parameter<V[number]>;
export function choice(values: readonly Scalar[], options: Listed = {}): Parameter<Scalar> {
  return { document: { type: "choice", values, ...options } as Parameter<Scalar>["document"] };
}

/** A space as the API has it. */
export function spaceOf(parameters: Parameters, forbid: readonly Condition[] = []): SpaceDocument {
  const listed = Object.entries(parameters).map(([name, { document }]) => ({ name, ...document }));
  return { parameters: listed, forbid } as unknown as SpaceDocument;
}

/**
 * Refuse a configuration that the space does not allow, as the service would.
 *
 * Steps are left to the service: rounding has many opinions.
 */
export function checkConfig(space: SpaceDocument, config: Config): void {
  const names = new Set(space.parameters.map((one) => one.name));
  for (const name of Object.keys(config)) {
    if (!names.has(name)) throw refused(name, config[name], "the space has no such parameter");
  }
  // A parameter whose conditions name an inactive one is inactive itself: that is missing, too.
  for (const one of space.parameters) {
    const isActive = meets(config, one.when ?? {});
    const value = config[one.name];
    if (!isActive) {
      if (value === undefined) continue;
      throw refused(one.name, value, "it is not active with these values of others");
    }
    if (value === undefined) throw refused(one.name, value, "it is active, so it needs a value");
    if (one.type === "choice") {
      if (!one.values.includes(value)) throw refused(one.name, value, "it is none of the values");
    } else if (typeof value !== "number" || !(one.low <= value && value <= one.high)) {
      throw refused(one.name, value, `it must be a number from ${one.low} to ${one.high}`);
    } else if (one.type === "int" && !Number.isInteger(value)) {
      throw refused(one.name, value, "it must be an integer");
    }
  }
  for (const condition of space.forbid ?? []) {
    if (meets(config, condition)) {
      throw refused(
        Object.keys(condition).join(", "),
        config,
        `the space forbids ${show(condition)}`,
      );
    }
  }
}

function meets(config: Config, condition: Condition): boolean {
  return Object.entries(condition).every(([name, wanted]) => {
    const value = config[name];
    return value !== undefined && (Array.isArray(wanted) ? wanted : [wanted]).includes(value);
  });
}

function refused(name: string, value: unknown, why: string): ImaboError {
  return new ImaboError(
    "invalid_config",
    `the default is refused: parameter ${show(name)} was given ${show(value)}`,
    why,
    "pass a configuration of the study's space",
  );
}
