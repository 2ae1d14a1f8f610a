/** The promises of `OrganizationStore`, as tests. */
import { assert } from "@effect/vitest"
import { OrganizationId } from "@messaging-crm/core/Ids"
import { type Organization, OrganizationStore } from "@messaging-crm/core/Organizations"
import { Effect, Option } from "effect"
import { hardText, moment } from "./Arbitraries.ts"
import { type It, type Options, uuid } from "./Fixtures.ts"

export const suite = (it: It, { runs }: Options) => {
  it.effect.prop("returns an organization as it was inserted, and none for another id", {
    name: hardText({ min: 1, max: 200 }),
    created_at: moment
  }, ({ created_at, name }) =>
    Effect.gen(function*() {
      const store = yield* OrganizationStore
      const organization: Organization = { id: OrganizationId.make(yield* uuid), name, created_at }
      yield* store.insert(organization)
      assert.deepStrictEqual(yield* store.find(organization.id), Option.some(organization))
      assert.deepStrictEqual(yield* store.find(OrganizationId.make(yield* uuid)), Option.none())
    }), { arbitrary: { runs } })
}
