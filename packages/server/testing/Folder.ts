import { Effect } from "effect"
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"

/** A new directory, removed with its contents when the scope closes. */
export const folder = Effect.acquireRelease(
  Effect.promise(() => mkdtemp(join(tmpdir(), "messaging-crm-test-"))),
  (directory) => Effect.promise(() => rm(directory, { recursive: true, force: true }))
)
