/** The organization of a test or of a drill. */
import { CurrentActor } from "@messaging-crm/core/Actor"
import { ApiKeys, CreateApiKey, Scope } from "@messaging-crm/core/ApiKeys"
import { Channels, ConnectChannel } from "@messaging-crm/core/Channels"
import { CreateOrganization, Organizations } from "@messaging-crm/core/Organizations"
import { Effect, Redacted } from "effect"

/** Creates an organization with an owner, a channel, and an API key. `as` runs an operation as the owner. */
export const createOrganization = Effect.gen(function*() {
  const { organization: { id: organization_id }, owner } = yield* Organizations.use((organizations) =>
    organizations.create(CreateOrganization.make({ name: "Acme", owner_name: "Ada", owner_email: "ada@acme.example" }))
  )
  const as = Effect.provideService(CurrentActor, { organization_id, member_id: owner.id })
  const channel = yield* as(Channels.use((channels) =>
    channels.connect(ConnectChannel.make({
      type: "phone_messaging",
      name: "Support",
      address: "+493012345678",
      phone_messaging_business_account_id: "acme"
    }))
  ))
  const { api_key, key } = yield* as(
    ApiKeys.use((keys) =>
      keys.create(CreateApiKey.make({ created_by: owner.id, name: "test", scopes: Scope.literals, expires: "1y" }))
    )
  )
  return { as, channel, organization_id, member_id: owner.id, key: Redacted.value(key), key_id: api_key.id }
})

export type TestOrganization = Effect.Success<typeof createOrganization>
