/** The mutants that survive or run out of time. Each is printed at once, so that a run that is stopped has shown what it found. */
import type { MutantResult } from "@stryker-mutator/api/core"
import { declareClassPlugin, PluginKind } from "@stryker-mutator/api/plugin"
import { readFileSync } from "node:fs"
import { relative } from "node:path"
import { equivalent } from "./equivalent.ts"

for (const { file, original } of equivalent) {
  const text = readFileSync(`packages/${file}`, "utf8")
  const missing = original.split("\n").find((line) => !text.includes(line))
  if (missing !== undefined) {
    throw new Error(`equivalent.ts names a text that packages/${file} does not have: ${missing}`)
  }
}

/** Whether tests judge a mutant: it compiles, and is no declaration. */
export const isJudged = ({ status }: MutantResult): boolean => !["CompileError", "Ignored"].includes(status)

/**
 * Whether a mutant ran out of time, which proves nothing on a busy machine: that of Stryker, or that of Vitest. A loop that ran
 * far more often than that of the original is no matter of time.
 */
export const isTimeout = ({ status, statusReason = "" }: MutantResult): boolean =>
  (status === "Timeout" && !statusReason.startsWith("Hit limit reached")) ||
  (status === "Killed" && /\b(Test|Hook) timed out in /.test(statusReason))

export const isKilled = (mutant: MutantResult): boolean =>
  ["Killed", "Timeout", "RuntimeError"].includes(mutant.status) && !isTimeout(mutant)

/** Returns the text that a mutant replaces. Its lines and columns count from 1. */
const textAt = ({ fileName, location: { end, start } }: MutantResult): string => {
  const lines = readFileSync(fileName, "utf8").split("\n").slice(start.line - 1, end.line)
  const last = lines.length - 1
  return lines.map((line, index) =>
    line.slice(0, index === last ? end.column - 1 : undefined).slice(index === 0 ? start.column - 1 : 0)
  )
    .join("\n")
}

/** Returns the lines of a text that another text does not have. Both texts are a template of SQL, or short. */
const linesOnlyIn = (text: string, other: string): ReadonlyArray<string> => {
  const others = new Set(other.split("\n"))
  return text.split("\n").filter((line) => !others.has(line)).map((line) => line.trim())
}

/** Returns the text that a mutant replaces and its replacement; of SQL with many lines, only the lines that differ. */
const differenceOf = (mutant: MutantResult): readonly [string, string] => {
  const { replacement = "" } = mutant
  const original = textAt(mutant)
  return [linesOnlyIn(original, replacement).join("\n"), linesOnlyIn(replacement, original).join("\n")]
}

/** Returns why no test can kill a mutant, if that is known. */
export const reasonOf = (mutant: MutantResult): string | undefined => {
  const pairs = [[textAt(mutant), mutant.replacement], differenceOf(mutant)] as const
  return equivalent.find(({ file, original, replacement }) =>
    mutant.fileName.endsWith(`packages/${file}`) &&
    pairs.some(([before, after]) => before === original && after === replacement)
  )?.reason
}

const describe = (mutant: MutantResult): string => {
  const { fileName, location, status } = mutant
  const place = `${relative("packages", fileName)}:${location.start.line}:${location.start.column}`
  const [before, after] = differenceOf(mutant)
  return `${place} ${isTimeout(mutant) ? "Timeout" : status}\n- ${before}\n+ ${after}\n`
}

/** Prints a mutant that no test has killed, unless the reason is known. */
export const printSurvivor = (mutant: MutantResult): void => {
  if (isJudged(mutant) && !isKilled(mutant) && reasonOf(mutant) === undefined) console.log(describe(mutant))
}

class Survivors {
  onMutantTested(mutant: MutantResult): void {
    printSurvivor(mutant)
  }
}

export const strykerPlugins = [declareClassPlugin(PluginKind.Reporter, "survivors", Survivors)]
