import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    globalSetup: ["test/shared.ts"],
    testTimeout: 60_000,
    hookTimeout: 120_000,
    // Two cores: servers and tests share them.
    maxWorkers: 2,
  },
});
