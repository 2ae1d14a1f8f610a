/** Several processes on one database, as far as the database can tell. */
import { layer } from "@messaging-crm/adapter-postgres"
import * as Database from "@messaging-crm/adapter-postgres/testing/Database"
import { Ids, OrganizationId } from "@messaging-crm/core/Ids"
import { OrganizationStore } from "@messaging-crm/core/Organizations"
import { DateTime, Effect, Layer } from "effect"

/** Layer for the suite's schema with one process on it. */
export const database = Layer.mergeAll(layer, Ids.layer).pipe(Layer.provideMerge(Database.layer))

/** Starts one more process, with connections of its own. */
export const start = Layer.build(Layer.fresh(layer.pipe(Layer.provideMerge(Database.layerClient))))

export const newId = Ids.use(({ uuid }) => uuid)

export const newOrganization = Effect.gen(function*() {
  const id = OrganizationId.make(yield* newId)
  yield* OrganizationStore.use((store) => store.insert({ id, name: "Acme", created_at: DateTime.makeUnsafe(0) }))
  return id
})
