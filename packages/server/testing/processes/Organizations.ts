/** Organizations for tests, which admin operations create in this process. */
import { CurrentActor } from "@messaging-crm/core/Actor"
import { ApiKeys, CreateApiKey, Scope } from "@messaging-crm/core/ApiKeys"
import { Channels, ConnectChannel } from "@messaging-crm/core/Channels"
import { CreateOrganization, Organizations } from "@messaging-crm/core/Organizations"
import { ConfigProvider, Effect, Layer, Redacted } from "effect"
import * as Operations from "../../src/cli/AdminOperations.ts"

/** Creates an organization with an owner, a phone channel, and an API key. */
export const create = (environment: Readonly<Record<string, string>>) =>
  Effect.gen(function*() {
    const { organization: { id: organization_id }, owner } = yield* Organizations.use((organizations) =>
      organizations.create(
        CreateOrganization.make({ name: "Acme", owner_name: "Ada", owner_email: "ada@acme.example" })
      )
    )
    const as = Effect.provideService(CurrentActor, { organization_id, member_id: null })
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
        keys.create(CreateApiKey.make({ name: "test", created_by: owner.id, expires: "90d", scopes: Scope.literals }))
      )
    )
    return {
      organization_id,
      member_id: owner.id,
      channel_id: channel.id,
      key_id: api_key.id,
      key: Redacted.value(key)
    }
  }).pipe(
    Effect.provide(Operations.layer.pipe(Layer.provide(ConfigProvider.layer(ConfigProvider.fromUnknown(environment))))),
    Effect.orDie
  )
