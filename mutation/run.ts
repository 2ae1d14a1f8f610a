/** `npm run mutate -- MODULE…`: changes one place of the code at a time, and shows what no test notices. */
import type { LogLevel, MutantResult } from "@stryker-mutator/api/core"
import { Stryker } from "@stryker-mutator/core"
import { setup } from "../packages/server/testing/GlobalSetup.ts"
import { mutateFunctions } from "./functions.ts"
import { type Module, modules } from "./modules.ts"
import { isJudged, isKilled, isTimeout, reasonOf } from "./survivors.ts"
import "./templates.ts"

/** Returns the least share of mutants that tests must kill, in percent. */
const minimumOf = (name: string): number => name.startsWith("core") ? 90 : 85

const mutate = (name: string, { files }: Module): Promise<ReadonlyArray<MutantResult>> =>
  new Stryker({
    mutate: files.map((file) => `packages/${file}`),
    testRunner: "vitest",
    plugins: [
      "@stryker-mutator/vitest-runner",
      `${import.meta.dirname}/declarations.ts`,
      `${import.meta.dirname}/survivors.ts`
    ],
    ignorers: ["declarations"],
    vitest: { configFile: "mutation/vitest.config.ts", related: false },
    coverageAnalysis: "perTest",
    concurrency: 1,
    // A mutant that ends by this counts as neither killed nor survived, so it can be short on a busy machine.
    timeoutMS: 20_000,
    timeoutFactor: 2,
    dryRunTimeoutMinutes: 15,
    reporters: ["survivors"],
    ignorePatterns: [
      "*",
      "!package.json",
      "!vitest.errors.ts",
      "!packages",
      "!packages/**",
      "!mutation",
      "!mutation/**"
    ],
    // Stryker would rewrite the paths of a configuration with TypeScript's earlier programming interface.
    tsconfigFile: "none",
    // Without `build`, every mutant is judged again.
    incremental: true,
    incrementalFile: `build/mutation/${name}.json`,
    // A constant enumeration has no value without its compiler.
    logLevel: "error" as LogLevel,
    tempDirName: `build/mutation/copies-${name}`
  }).runMutationTest()

/** Returns the mutants of a module: those of its SQL functions, or of its other files. */
const mutantsOf = async (name: string, module: Module): Promise<ReadonlyArray<MutantResult>> => {
  const { files, names, tests } = module
  process.env["PROPERTY_RUNS"] ??= "20"
  process.env["MUTATION_TESTS"] = tests.map((test) => `packages/${test}`).join(" ")
  if (files.every((file) => file.endsWith(".sql"))) return mutateFunctions(files, names)
  // An incremental file keeps the mutants of files that the module no longer has.
  const isCurrent = ({ fileName }: MutantResult) => files.some((file) => fileName.endsWith(`packages/${file}`))
  return (await mutate(name, module)).filter(isCurrent)
}

const run = async (name: string, module: Module): Promise<boolean> => {
  const teardown = module.tests.some((test) => /^(adapter-postgres|server)\//.test(test))
    ? await setup()
    : () => undefined
  const mutants = (await mutantsOf(name, module)).filter(isJudged)
  await teardown()
  const explained = mutants.filter((mutant) => !isKilled(mutant) && reasonOf(mutant) !== undefined)
  const killed = mutants.filter(isKilled).length
  const share = 100 * killed / mutants.length
  console.log(
    `| ${name} | ${mutants.length} | ${killed} | ${share.toFixed(1)}% | ${
      mutants.filter(isTimeout).length
    } | ${explained.length} |`
  )
  return share >= minimumOf(module.files[0] ?? "")
}

const names = process.argv.slice(2)
let isEnough = true
console.log("| Module | Mutants | Killed | Share | Timeouts | Explained |\n|---|---|---|---|---|---|")
for (const name of names.length === 0 ? Object.keys(modules) : names) {
  const module = modules[name]
  if (module === undefined) throw new Error(`There is no module ${name}: ${Object.keys(modules).join(", ")}`)
  isEnough = await run(name, module) && isEnough
}
process.exitCode = isEnough ? 0 : 1
