import { defineConfig } from "vitest/config"

// What needs PgBouncer is a run of its own, so that `npm test` needs none.
export default defineConfig({
  test: {
    include: ["packages/*/pooler/**/*.test.ts"],
    globalSetup: ["packages/server/testing/GlobalSetup.ts"],
    setupFiles: ["vitest.errors.ts"],
    testTimeout: 60_000,
    hookTimeout: 60_000
  }
})
