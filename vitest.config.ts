import { availableParallelism } from "node:os"
import { defineConfig } from "vitest/config"

/** Packages whose tests need PostgreSQL. Tests of the others start without it. */
const withPostgres = "packages/{adapter-postgres,server}/test/**/*.test.ts"

export default defineConfig({
  test: {
    // By default one processor stays idle.
    maxWorkers: "100%",
    // A worker imports what its files share once. No test changes a module or a global for good.
    isolate: false,
    // They end what hangs. A machine that is busy otherwise must not reach them.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    projects: [
      {
        extends: true,
        test: {
          name: "memory",
          include: ["{packages,examples}/*/test/**/*.test.ts", "packages/server/simulation/*.test.ts"],
          exclude: ["**/node_modules/**", withPostgres]
        }
      },
      {
        extends: true,
        test: {
          name: "postgres",
          include: [withPostgres],
          // They often wait for processes and timeouts, so one worker more than processors. Vitest then wants a group of its own.
          maxWorkers: availableParallelism() + 1,
          sequence: { groupOrder: 1 },
          globalSetup: ["packages/server/testing/Postgres.ts"]
        }
      }
    ]
  }
})
