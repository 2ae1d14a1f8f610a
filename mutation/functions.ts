/**
 * Judges the changes of SQL functions, each in a copy of the test database, by the same tests as those of Stryker: its own mutants
 * are expressions of TypeScript.
 */
import type { MutantResult } from "@stryker-mutator/api/core"
import { Effect, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { execFile } from "node:child_process"
import { readFileSync } from "node:fs"
import { stripVTControlCharacters } from "node:util"
import * as Client from "../packages/adapter-postgres/src/database/Client.ts"
import { type Change, changed, changesOf } from "./sql.ts"
import { printSurvivor } from "./survivors.ts"

const run = (url: string, statement: string): Promise<unknown> =>
  SqlClient.SqlClient.use((sql) => sql.unsafe(statement)).pipe(
    Effect.provide(Client.layer({ url: Redacted.make(url), connections: 1 })),
    Effect.runPromise
  )

const mutant_database = "mutated"

/** Makes the copy with a function's changed text. Returns false if PostgreSQL rejects the text. */
const makeDatabase = async (text: string): Promise<boolean> => {
  const server = process.env["TEST_DATABASE_URL"] ?? ""
  await run(server, `DROP DATABASE IF EXISTS ${mutant_database} WITH (FORCE)`)
  await run(server, `CREATE DATABASE ${mutant_database} TEMPLATE ${process.env["TEST_DATABASE_TEMPLATE"]}`)
  const url = server.replace(/\/[^/?]*(?=\?|$)/, `/${mutant_database}`)
  return run(url, text).then(() => true, () => false)
}

/** Runs the tests with some names in the copy. Returns the failure; undefined if all pass. */
const runTests = (names: string): Promise<string | undefined> =>
  new Promise((resolve) => {
    const env = { ...process.env, TEST_DATABASE_TEMPLATE: mutant_database }
    const vitest = new URL("../node_modules/vitest/vitest.mjs", import.meta.url).pathname
    const options = ["run", "--config", "mutation/vitest.config.ts", "--bail", "1", "--maxWorkers", "1", "-t", names]
    execFile(
      process.execPath,
      [vitest, ...options],
      { env, maxBuffer: 100_000_000, timeout: 300_000 },
      (error, out) => {
        if (error === null) return resolve(undefined)
        const reason = /\b(Test|Hook) timed out in .*/.exec(out) ?? /FAIL\b.*/.exec(stripVTControlCharacters(out))
        resolve(error.killed ? "Timeout" : reason?.[0] ?? "A test failed.")
      }
    )
  })

/** Returns the place of a character, both from 1. */
const placeOf = (text: string, index: number) => {
  const lines = text.slice(0, index).split("\n")
  return { line: lines.length, column: (lines.at(-1) ?? "").length + 1 }
}

const judge = async (fileName: string, text: string, change: Change, names: string): Promise<MutantResult> => {
  const isValid = await makeDatabase(changed(text, change))
  const failure = isValid ? await runTests(names) : undefined
  const mutant: MutantResult = {
    id: `${fileName}:${change.start}`,
    fileName,
    location: { start: placeOf(text, change.start), end: placeOf(text, change.end) },
    mutatorName: "SQL",
    replacement: change.replacement,
    status: !isValid
      ? "CompileError"
      : failure === undefined
      ? "Survived"
      : failure === "Timeout"
      ? "Timeout"
      : "Killed",
    ...(failure === undefined ? {} : { statusReason: failure })
  }
  printSurvivor(mutant)
  return mutant
}

/** Judges every change of SQL functions. */
export const mutateFunctions = async (
  files: ReadonlyArray<string>,
  names: string
): Promise<ReadonlyArray<MutantResult>> => {
  await makeDatabase("SELECT 1")
  const failure = await runTests(names)
  if (failure !== undefined) throw new Error(`The tests fail without a change: ${failure}`)
  const mutants: Array<MutantResult> = []
  for (const file of files) {
    const fileName = `packages/${file}`
    const text = readFileSync(fileName, "utf8")
    for (const change of changesOf(text)) mutants.push(await judge(fileName, text, change, names))
  }
  return mutants
}
