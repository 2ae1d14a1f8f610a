import { defineConfig } from "vitest/config"

/** Coverage of core by quick tests in memory: its own, those that every store passes, and some of its callers. */
export default defineConfig({
  test: {
    maxWorkers: "100%",
    isolate: false,
    setupFiles: ["vitest.errors.ts"],
    testTimeout: 300_000,
    include: [
      "packages/{core,adapter-memory}/test/**/*.test.ts",
      "packages/adapter-http/test/{Audit,Contacts,Conversations,Failures,Media,Messages,Webhooks}.test.ts",
      "packages/provider-cloud/test/Inbox.test.ts"
    ],
    coverage: {
      enabled: true,
      provider: "v8",
      include: ["packages/core/src/**"],
      reporter: ["text"],
      thresholds: { lines: 95, branches: 90 }
    }
  }
})
