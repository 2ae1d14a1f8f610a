import { Effect } from "effect"
import { mkdir, readFile, writeFile } from "node:fs/promises"
import { dirname } from "node:path"
import { WrongSetting } from "./Config.ts"

/** Returns a secret that is kept in a file for its owner's eyes only, made when it is not there yet. */
export const kept = <E, R>(file: string, make: Effect.Effect<string, E, R>) =>
  Effect.tryPromise(() => readFile(file, "utf8")).pipe(
    Effect.catch(() =>
      Effect.tap(make, (text) =>
        Effect.tryPromise({
          try: async () => {
            await mkdir(dirname(file), { recursive: true })
            await writeFile(file, text, { mode: 0o600 })
          },
          catch: () => new WrongSetting({ message: `${file} cannot be written: choose another --data-dir.` })
        }))
    )
  )
