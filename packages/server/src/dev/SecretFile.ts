import { Effect, Option } from "effect"
import { randomUUID } from "node:crypto"
import { link, mkdir, readFile, rm, writeFile } from "node:fs/promises"
import { dirname } from "node:path"
import { StartupRejected } from "../settings/Config.ts"

const hasCode = (error: unknown, code: string): boolean =>
  error instanceof Error && "code" in error && error.code === code

/** Writes a file that only its owner can read, unless there is one. */
const create = async (file: string, text: string): Promise<void> => {
  await mkdir(dirname(file), { recursive: true })
  // Linked into place, so that a start that is killed leaves no incomplete file, and only one of concurrent starts wins.
  const complete = `${file}.${randomUUID()}`
  await writeFile(complete, text, { mode: 0o600 })
  try {
    await link(complete, file)
  } catch (error) {
    if (!hasCode(error, "EEXIST")) throw error
  } finally {
    await rm(complete)
  }
}

const fails = (file: string, what: string) =>
  new StartupRejected({ message: `${file} cannot be ${what}. Choose another --data-dir.` })

/** Writes a file that only its owner can read, and replaces an earlier one. */
export const write = (file: string, text: string) =>
  Effect.tryPromise({
    try: async () => {
      await mkdir(dirname(file), { recursive: true })
      await rm(file, { force: true })
      await writeFile(file, text, { mode: 0o600 })
    },
    catch: () => fails(file, "written")
  })

/**
 * Reads a secret from a file that only its owner can read. If the file does not exist, creates it with a new secret.
 */
export const readOrCreate = Effect.fnUntraced(function*<E, R>(file: string, make: Effect.Effect<string, E, R>) {
  const read = Effect.tryPromise({ try: () => readFile(file, "utf8"), catch: (error) => error })
  const found = yield* read.pipe(
    Effect.asSome,
    Effect.catch((error) => hasCode(error, "ENOENT") ? Effect.succeedNone : fails(file, "read"))
  )
  if (Option.isSome(found)) return found.value
  const text = yield* make
  yield* Effect.tryPromise({ try: () => create(file, text), catch: () => fails(file, "written") })
  return yield* Effect.mapError(read, () => fails(file, "read"))
})
