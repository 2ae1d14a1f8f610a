import { defineConfig } from "vitest/config"

/** Coverage of core by the quick tests in memory: its own, and those that every store passes. */
export default defineConfig({
  test: {
    maxWorkers: "100%",
    isolate: false,
    testTimeout: 300_000,
    include: ["packages/{core,adapter-memory}/test/**/*.test.ts"],
    coverage: {
      enabled: true,
      provider: "v8",
      include: ["packages/core/src/**"],
      reporter: ["text"],
      thresholds: { lines: 95, branches: 90 }
    }
  }
})
