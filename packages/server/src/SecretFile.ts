import { Effect, Option } from "effect"
import { mkdir, readFile, rename, writeFile } from "node:fs/promises"
import { dirname } from "node:path"
import { WrongSetting } from "./Config.ts"

const isMissing = (error: unknown): boolean => error instanceof Error && "code" in error && error.code === "ENOENT"

/**
 * Reads a secret from a file that only its owner can read. If the file does not exist, creates it with a new secret.
 */
export const readOrCreate = Effect.fnUntraced(function*<E, R>(file: string, make: Effect.Effect<string, E, R>) {
  const fails = (what: string) => new WrongSetting({ message: `${file} cannot be ${what}: choose another --data-dir.` })
  const found = yield* Effect.tryPromise({ try: () => readFile(file, "utf8"), catch: (error) => error }).pipe(
    Effect.asSome,
    Effect.catch((error) => isMissing(error) ? Effect.succeedNone : fails("read"))
  )
  if (Option.isSome(found)) return found.value
  const text = yield* make
  yield* Effect.tryPromise({
    try: async () => {
      await mkdir(dirname(file), { recursive: true })
      // Renamed into place, so that a start that is killed leaves no incomplete file.
      await writeFile(`${file}.new`, text, { mode: 0o600 })
      await rename(`${file}.new`, file)
    },
    catch: () => fails("written")
  })
  return text
})
