/** `npm run mutate -- MODULE…`: changes one place of the code at a time, and shows what no test notices. */
import type { LogLevel, MutantResult } from "@stryker-mutator/api/core"
import { Stryker } from "@stryker-mutator/core"
import { existsSync } from "node:fs"
import { type Module, modules } from "./modules.ts"
import { isJudged, reasonOf, survives } from "./survivors.ts"

/** The least share of mutants that tests must kill, in percent. */
const killed_min = 85

const mutate = (name: string, { files, tests }: Module): Promise<Array<MutantResult>> => {
  // Stryker and Vitest pass over paths that lead nowhere.
  const missing = [...files, ...tests].find((file) => !existsSync(`packages/${file}`))
  if (missing !== undefined) throw new Error(`There is no file packages/${missing}.`)
  process.env["PROPERTY_RUNS"] ??= "20"
  process.env["MUTATION_TESTS"] = tests.map((test) => `packages/${test}`).join(" ")
  return new Stryker({
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
    tempDirName: "build/mutation/copies"
  }).runMutationTest()
}

const run = async (name: string, module: Module): Promise<boolean> => {
  // An incremental file keeps the mutants of files that the module no longer has.
  const isCurrent = ({ fileName }: MutantResult) => module.files.some((file) => fileName.endsWith(`packages/${file}`))
  const mutants = (await mutate(name, module)).filter((mutant) => isJudged(mutant) && isCurrent(mutant))
  const survivors = mutants.filter(survives)
  const explained = survivors.filter((mutant) => reasonOf(mutant) !== undefined)
  const killed = mutants.length - survivors.length
  const share = 100 * killed / mutants.length
  console.log(
    `| ${name} | ${mutants.length} | ${killed} | ${share.toFixed(1)}% | ${explained.length} |`
  )
  return share >= killed_min
}

const names = process.argv.slice(2)
let isEnough = true
for (const name of names.length === 0 ? Object.keys(modules) : names) {
  const module = modules[name]
  if (module === undefined) throw new Error(`There is no module ${name}: ${Object.keys(modules).join(", ")}`)
  isEnough = await run(name, module) && isEnough
}
process.exitCode = isEnough ? 0 : 1
