import { availableParallelism } from "node:os"
import { defineConfig } from "vitest/config"
import { BaseSequencer, type TestSpecification } from "vitest/node"

/** Tests that need PostgreSQL. The others start without it. */
const withPostgres = ["packages/{adapter-postgres,server}/test/**/*.test.ts", "reliability/test/slow/**/*.test.ts"]

/** Tests that start programs, fill a large database, or try every pair of operations. `npm run test:all` runs them too. */
const slow = "{packages/*,reliability}/test/slow/**/*.test.ts"

const globalSetup = ["packages/server/testing/GlobalSetup.ts"]

/** The files that take longest, most of them because they wait. They start first, so that the others run meanwhile. */
const longest = [
  "adapter-postgres/test/slow/Races",
  "adapter-postgres/test/slow/Plans",
  "reliability/test/slow/FullDisk",
  "adapter-postgres/test/conformance/Ports",
  "adapter-postgres/test/conformance/Inbound",
  "adapter-postgres/test/conformance/Webhooks",
  "adapter-postgres/test/conformance/Sends",
  "adapter-http/test/Generated",
  "server/test/slow/Canaries",
  "server/test/slow/ChannelTokens",
  "server/test/slow/TestNumbers",
  "server/test/slow/Telemetry",
  "server/test/slow/Server",
  "server/test/slow/Processes",
  "server/test/slow/Pagination",
  "server/test/slow/Dev",
  "adapter-postgres/test/SilentConnection",
  "adapter-postgres/test/conformance/Contacts",
  "adapter-postgres/test/Rows",
  "reliability/test/Simulation",
  "provider-cloud/test/Mutated",
  "adapter-memory/test/Interleavings"
]

const placeOf = ({ moduleId, project }: TestSpecification): number => {
  const place = longest.findIndex((name) => moduleId.endsWith(`/${name}.test.ts`))
  if (place >= 0) return place
  return longest.length + (project.name === "memory" ? 1 : 0)
}

/** Runs the longest files first, then the others with PostgreSQL, and last those that only compute. */
class LongestFirst extends BaseSequencer {
  override async sort(files: Array<TestSpecification>) {
    // oxlint-disable-next-line unicorn/no-array-sort -- the method of the base class
    const sorted = await super.sort(files)
    return sorted.toSorted((one, other) => placeOf(one) - placeOf(other))
  }
}

export default defineConfig({
  test: {
    // Tests with PostgreSQL often wait for processes and timeouts.
    maxWorkers: availableParallelism() + 2,
    sequence: { sequencer: LongestFirst },
    // A worker imports what its files share once. No test changes a module or a global for good.
    isolate: false,
    unstubGlobals: true,
    setupFiles: ["vitest.hangs.ts", "vitest.errors.ts"],
    // It ends what hangs. A machine that is busy otherwise must not reach it: tests that compute for long set a limit of their own.
    testTimeout: 60_000,
    hookTimeout: 300_000,
    projects: [
      {
        extends: true,
        test: {
          name: "memory",
          include: [
            "{packages,examples}/*/test/**/*.test.ts",
            "{benchmarks,reliability}/test/**/*.test.ts"
          ],
          exclude: ["**/node_modules/**", ...withPostgres]
        }
      },
      {
        extends: true,
        test: {
          name: "postgres",
          include: withPostgres,
          exclude: ["**/node_modules/**", slow],
          globalSetup
        }
      },
      {
        extends: true,
        test: { name: "slow", include: [slow], globalSetup, testTimeout: 300_000 }
      },
      {
        extends: true,
        // The tests of the contract over three cells on two servers.
        test: {
          name: "cells",
          include: ["packages/adapter-http/test/*.test.ts"],
          setupFiles: ["packages/server/test/cells/Contract.setup.ts"],
          globalSetup: [...globalSetup, "packages/server/testing/SecondServer.ts"]
        }
      }
    ]
  }
})
