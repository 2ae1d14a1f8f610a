import { defineConfig } from "vitest/config"

export default defineConfig({
  test: {
    include: ["{packages,examples}/*/test/**/*.test.ts"],
    globalSetup: ["packages/server/testing/Postgres.ts"],
    // By default one processor stays idle.
    maxWorkers: "100%",
    testTimeout: 60_000,
    hookTimeout: 60_000
  }
})
