/** `npm run mutate -- MODULE…`: changes one place of the code at a time, and shows what no test notices. */
import type { LogLevel, MutantResult } from "@stryker-mutator/api/core"
import { Stryker } from "@stryker-mutator/core"
import { existsSync, readFileSync } from "node:fs"
import { relative } from "node:path"
import { equivalent } from "./equivalent.ts"
import { type Module, modules } from "./modules.ts"

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
    plugins: ["@stryker-mutator/vitest-runner", `${import.meta.dirname}/declarations.ts`],
    ignorers: ["declarations"],
    vitest: { configFile: "mutation/vitest.config.ts", related: false },
    coverageAnalysis: "perTest",
    concurrency: 1,
    reporters: [],
    ignorePatterns: ["*", "!package.json", "!packages", "!packages/**", "!mutation", "!mutation/**"],
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

/** Returns the text that a mutant replaces. Its lines and columns count from 1. */
const textAt = ({ fileName, location: { end, start } }: MutantResult): string => {
  const lines = readFileSync(fileName, "utf8").split("\n").slice(start.line - 1, end.line)
  const last = lines.length - 1
  return lines.map((line, index) =>
    line.slice(0, index === last ? end.column - 1 : undefined).slice(index === 0 ? start.column - 1 : 0)
  )
    .join("\n")
}

const reasonOf = (mutant: MutantResult): string | undefined =>
  equivalent.find(({ file, original, replacement }) =>
    mutant.fileName.endsWith(`packages/${file}`) && textAt(mutant) === original && mutant.replacement === replacement
  )?.reason

const describe = (mutant: MutantResult): string => {
  const { fileName, location, replacement, status } = mutant
  const place = `${relative("packages", fileName)}:${location.start.line}:${location.start.column}`
  return `${place} ${status}\n- ${textAt(mutant)}\n+ ${replacement}\n`
}

const run = async (name: string, module: Module): Promise<boolean> => {
  const mutants = (await mutate(name, module)).filter(({ status }) => !["CompileError", "Ignored"].includes(status))
  const isKilled = ({ status }: MutantResult) => ["Killed", "Timeout", "RuntimeError"].includes(status)
  const survivors = mutants.filter((mutant) => !isKilled(mutant))
  const unexplained = survivors.filter((mutant) => reasonOf(mutant) === undefined)
  for (const mutant of unexplained) console.log(describe(mutant))
  const killed = mutants.length - survivors.length
  const share = 100 * killed / mutants.length
  console.log(
    `| ${name} | ${mutants.length} | ${killed} | ${share.toFixed(1)} % | ${survivors.length - unexplained.length} |`
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
