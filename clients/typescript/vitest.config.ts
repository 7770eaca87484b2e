import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    globalSetup: ["test/shared.ts"],
    testTimeout: 30_000,
    hookTimeout: 60_000,
    // Two cores: servers and tests share them.
    maxWorkers: 2,
  },
});
