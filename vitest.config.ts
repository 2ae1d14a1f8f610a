import { defineConfig } from "vitest/config"

/** Packages whose tests need PostgreSQL. Tests of the others start without it. */
const withPostgres = "packages/{adapter-postgres,server}/test/**/*.test.ts"

export default defineConfig({
  test: {
    // By default one processor stays idle.
    maxWorkers: "100%",
    // A worker imports what its files share once. No test changes a module or a global for good.
    isolate: false,
    testTimeout: 60_000,
    hookTimeout: 60_000,
    projects: [
      {
        extends: true,
        test: {
          name: "memory",
          include: ["{packages,examples}/*/test/**/*.test.ts"],
          exclude: ["**/node_modules/**", withPostgres]
        }
      },
      {
        extends: true,
        test: {
          name: "postgres",
          include: [withPostgres],
          globalSetup: ["packages/server/testing/Postgres.ts"]
        }
      }
    ]
  }
})
