/** Cells over storages in memory, each with an organization. */
import { Effect } from "effect"
import { start } from "../../../adapter-http/testing/Service.ts"
import { Cell, makeApi } from "../../src/cells/Cell.ts"

/** Starts a service in memory, and makes a cell of it. */
export const startCell = Effect.fnUntraced(function*(name: string) {
  const service = yield* Effect.acquireRelease(Effect.sync(() => start()), ({ stop }) => Effect.promise(stop))
  const services = yield* Effect.promise(() => service.runtime.context())
  const respond = yield* makeApi(services)
  const running = {
    services,
    readiness: Effect.succeed({ status: "ok" as const }),
    respond,
    isMoving: () => Effect.succeed(false)
  }
  const organization = yield* Effect.promise(() => service.organization())
  return { cell: new Cell(name, running), organization, running, service }
})
