import type { TestProject } from "vitest/node";

import { Serving } from "./serving.js";

declare module "vitest" {
  export interface ProvidedContext {
    url: string;
  }
}

/** One service for all tests but those that kill theirs: each has studies of its own. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const serving = await Serving.start();
  project.provide("url", serving.url);
  return () => serving.end();
}
