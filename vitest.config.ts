import { defineConfig } from "vitest/config"

export default defineConfig({
  test: {
    include: ["{packages,examples}/*/test/**/*.test.ts"],
    globalSetup: ["packages/server/testing/Postgres.ts"],
    testTimeout: 60_000,
    hookTimeout: 60_000
  }
})
