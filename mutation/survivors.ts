/** The mutants that survive. Each is printed at once, so that a run that is stopped has shown what it found. */
import type { MutantResult } from "@stryker-mutator/api/core"
import { declareClassPlugin, PluginKind } from "@stryker-mutator/api/plugin"
import { readFileSync } from "node:fs"
import { relative } from "node:path"
import { equivalent } from "./equivalent.ts"

/** Whether tests judge a mutant: it compiles, and is no declaration. */
export const isJudged = ({ status }: MutantResult): boolean => !["CompileError", "Ignored"].includes(status)

export const survives = (mutant: MutantResult): boolean =>
  isJudged(mutant) && !["Killed", "Timeout", "RuntimeError"].includes(mutant.status)

/** Returns the text that a mutant replaces. Its lines and columns count from 1. */
const textAt = ({ fileName, location: { end, start } }: MutantResult): string => {
  const lines = readFileSync(fileName, "utf8").split("\n").slice(start.line - 1, end.line)
  const last = lines.length - 1
  return lines.map((line, index) =>
    line.slice(0, index === last ? end.column - 1 : undefined).slice(index === 0 ? start.column - 1 : 0)
  )
    .join("\n")
}

/** Returns why no test can kill a mutant, if that is known. */
export const reasonOf = (mutant: MutantResult): string | undefined =>
  equivalent.find(({ file, original, replacement }) =>
    mutant.fileName.endsWith(`packages/${file}`) && textAt(mutant) === original && mutant.replacement === replacement
  )?.reason

const describe = (mutant: MutantResult): string => {
  const { fileName, location, replacement, status } = mutant
  const place = `${relative("packages", fileName)}:${location.start.line}:${location.start.column}`
  return `${place} ${status}\n- ${textAt(mutant)}\n+ ${replacement}\n`
}

class Survivors {
  onMutantTested(mutant: MutantResult): void {
    if (survives(mutant) && reasonOf(mutant) === undefined) console.log(describe(mutant))
  }
}

export const strykerPlugins = [declareClassPlugin(PluginKind.Reporter, "survivors", Survivors)]
