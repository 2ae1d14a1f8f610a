import { OrganizationStore } from "@messaging-crm/core/Organizations"
import { Effect, HashMap, Layer } from "effect"
import { World } from "./World.ts"

/** Layer that keeps organizations in the in-memory world. */
export const layer = Layer.effect(
  OrganizationStore,
  Effect.gen(function*() {
    const world = yield* World

    return OrganizationStore.of({
      insert: (organization) =>
        world.modify((rows) => [
          undefined,
          { ...rows, organizations: HashMap.set(rows.organizations, organization.id, organization) }
        ]),
      find: (id) => world.read((rows) => HashMap.get(rows.organizations, id))
    })
  })
)
