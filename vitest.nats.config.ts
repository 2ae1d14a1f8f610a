import { defineConfig } from "vitest/config"

// What needs nats-server is a run of its own, so that `npm test` needs none.
export default defineConfig({
  test: {
    include: ["packages/*/nats/**/*.test.ts"],
    setupFiles: ["vitest.errors.ts"],
    testTimeout: 60_000,
    hookTimeout: 60_000
  }
})
