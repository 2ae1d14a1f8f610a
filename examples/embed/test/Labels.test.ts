import { assert, it } from "@effect/vitest"
import * as Memory from "@messaging-crm/adapter-memory"
import * as WebhookTransport from "@messaging-crm/adapter-memory/WebhookTransport"
import { visibleHardText } from "@messaging-crm/conformance/Arbitraries"
import { CurrentActor } from "@messaging-crm/core/Actor"
import * as Crm from "@messaging-crm/core/Crm"
import { CreateOrganization, Organizations } from "@messaging-crm/core/Organizations"
import { CreateTag, Tags } from "@messaging-crm/core/Tags"
import * as MockProvider from "@messaging-crm/provider-mock"
import { Effect, Layer } from "effect"
import { label } from "../src/Labels.ts"

const crm = Crm.layer.pipe(Layer.provide([Memory.layer, MockProvider.layer, WebhookTransport.layer]))

/** An organization of its own for each run, so that no run sees what another left. */
const asNewOwner = Effect.fnUntraced(function*<A, E, R>(effect: Effect.Effect<A, E, R>) {
  const { organization, owner } = yield* Organizations.use((organizations) =>
    organizations.create(
      CreateOrganization.make({ name: "The shop", owner_name: "Ada", owner_email: "ada@shop.example" })
    )
  )
  const actor = { organization_id: organization.id, member_id: owner.id }
  return yield* Effect.provideService(effect, CurrentActor, actor)
})

it.layer(crm)((it) => {
  it.effect.prop(
    "a name has one label, however it is written and however many ask at once",
    { name: visibleHardText({ min: 1, max: 40 }) },
    ({ name }) =>
      Effect.gen(function*() {
        const spellings = [name, name.toUpperCase(), name.toLowerCase()]
        const labels = yield* Effect.forEach(spellings, (name) => label(CreateTag.make({ name, color: "amber" })), {
          concurrency: "unbounded"
        })
        const all = yield* Tags.use((tags) => tags.list)
        assert.lengthOf(all, 1)
        for (const found of labels) assert.deepStrictEqual(found, all[0])
      }).pipe(asNewOwner),
    { arbitrary: { runs: 200 } }
  )
})
