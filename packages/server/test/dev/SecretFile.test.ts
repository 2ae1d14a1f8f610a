/** The file of the secret that `dev` keeps: created once, and private. */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { readdir, readFile, stat } from "node:fs/promises"
import { join } from "node:path"
import * as SecretFile from "../../src/dev/SecretFile.ts"
import { folder } from "../../testing/Folder.ts"

it.live("concurrent starts read the same secret", () =>
  Effect.gen(function*() {
    const parent = join(yield* folder, "data")
    const file = join(parent, "secret-key")
    const starts = Array.from({ length: 20 }, (_, index) => SecretFile.readOrCreate(file, Effect.succeed(`${index}`)))
    const secrets = yield* Effect.all(starts, { concurrency: "unbounded" })
    assert.strictEqual(new Set(secrets).size, 1)
    assert.strictEqual(yield* Effect.promise(() => readFile(file, "utf8")), secrets[0])
    assert.deepStrictEqual(yield* Effect.promise(() => readdir(parent)), ["secret-key"])
    assert.strictEqual((yield* Effect.promise(() => stat(file))).mode & 0o777, 0o600)
    assert.strictEqual(yield* SecretFile.readOrCreate(file, Effect.succeed("new")), secrets[0])
  }).pipe(Effect.scoped))
