export type { components, paths } from "./api.js";
export { Client, type ClientOptions, type StudySettings } from "./client.js";
export { ImaboError } from "./errors.js";
export type { Fetch } from "./http.js";
export type { Log } from "./outbox.js";
export {
  choice,
  type Condition,
  type Config,
  type ConfigOf,
  float,
  int,
  type Parameter,
  type Parameters,
  type Scalar,
} from "./space.js";
export {
  type AskOptions,
  type Best,
  type Facts,
  type Pull,
  Study,
  type TellOptions,
  type Told,
  type Whose,
} from "./study.js";
