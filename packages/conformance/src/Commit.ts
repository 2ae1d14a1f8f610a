/** Tests of the guarantees of `Commit`. */
import { touches } from "./Commit/Activities.ts"
import { concurrentCommits, isolation } from "./Commit/Concurrency.ts"
import { events } from "./Commit/Events.ts"
import { keys } from "./Commit/Keys.ts"
import { versions, wholeOrNothing } from "./Commit/Versions.ts"
import { records, works } from "./Commit/Work.ts"
import type { It, Options } from "./Fixtures.ts"

export const portTests = (it: It, options: Options) => {
  wholeOrNothing(it)
  versions(it, options)
  keys(it)
  touches(it, options)
  events(it, options)
  works(it)
  records(it, options)
  concurrentCommits(it)
  isolation(it)
}
