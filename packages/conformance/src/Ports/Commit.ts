/** Tests of the guarantees of `Commit`. */
import type { It, Options } from "../Fixtures.ts"
import { activities } from "./Commit/Activities.ts"
import { concurrentCommits, isolation } from "./Commit/Concurrency.ts"
import { events } from "./Commit/Events.ts"
import { keys } from "./Commit/Keys.ts"
import { versions, wholeOrNothing } from "./Commit/Versions.ts"
import { records, workItems } from "./Commit/Work.ts"

export const portTests = (it: It, options: Options) => {
  wholeOrNothing(it)
  versions(it, options)
  keys(it)
  activities(it, options)
  events(it, options)
  workItems(it)
  records(it, options)
  concurrentCommits(it)
  isolation(it)
}
