import { CurrentActor } from "@messaging-crm/core/Actor"
import { ApiKeys, CreateApiKey, Expiry, Scope } from "@messaging-crm/core/ApiKeys"
import { Channels, ChannelType, ConnectChannel, networkOf } from "@messaging-crm/core/Channels"
import { CreateOrganization, Organizations } from "@messaging-crm/core/Organizations"
import { Effect, Option, Redacted } from "effect"
import { Command, Flag } from "effect/cli"
import { businessAccountMismatch } from "../cli/AccountFlags.ts"
import * as Admin from "../cli/Admin.ts"
import * as Flags from "../cli/Flags.ts"
import * as Print from "../cli/Print.ts"

/** Everything is validated before the organization is created, so that a wrong flag leaves nothing behind. */
const make = Effect.fnUntraced(
  function*(organization_input: CreateOrganization, channel_input: ConnectChannel, expires: Expiry) {
    const { organization, owner } = yield* Organizations.use(({ create }) => create(organization_input))
    return yield* Effect.gen(function*() {
      const channel = yield* Channels.use(({ connect }) => connect(channel_input))
      const input = CreateApiKey.make({ created_by: owner.id, name: "init", scopes: Scope.literals, expires })
      const { api_key, key } = yield* ApiKeys.use(({ create }) => create(input))
      return {
        organization_id: organization.id,
        member_id: owner.id,
        channel_id: channel.id,
        key_id: api_key.id,
        api_key: Redacted.value(key)
      }
    }).pipe(Effect.provideService(CurrentActor, { organization_id: organization.id, member_id: owner.id }))
  }
)

export const init = Command.make(
  "init",
  {
    name: Flag.String("name").pipe(Flag.withDescription("Name of the organization")),
    owner_name: Flag.String("owner-name").pipe(Flag.withDescription("Name of the owner")),
    owner_email: Flag.String("owner-email").pipe(Flag.withDescription("Email address of the owner")),
    type: Flag.Literals("type", ChannelType.literals).pipe(Flags.withDefault("page_messaging", "Type of the channel")),
    channel_name: Flag.String("channel-name").pipe(Flags.withDefault("Support", "Display name of the channel")),
    address: Flag.String("address").pipe(
      Flags.withDefault(
        "support",
        "The channel's phone number, or the name of its account or page (not the network's ID)"
      )
    ),
    business_account: Flag.String("business-account").pipe(
      Flags.optional("ID of the business account; required for a phone_messaging channel", "none")
    ),
    cell: Admin.cell,
    expires: Flag.Literals("expires", Expiry.literals).pipe(Flags.withDefault("1y", "Lifetime of the API key")),
    json: Print.json
  },
  Effect.fnUntraced(function*({ address, business_account, cell, channel_name, expires, json, type, ...flags }) {
    const organization = yield* Admin.typed(CreateOrganization, flags)
    if (networkOf(type).has_templates !== Option.isSome(business_account)) {
      return yield* businessAccountMismatch(type)
    }
    const channel = yield* Admin.typed(ConnectChannel, {
      type,
      name: channel_name,
      address,
      phone_messaging_business_account_id: Option.getOrNull(business_account)
    }, { name: "channel-name" })
    const made = yield* Admin.inCell(cell, Effect.orDie(make(organization, channel, expires)))
    const lines = Object.entries(made).map(([name, value]) => `export ${name.toUpperCase()}='${value}'`)
    yield* Print.result(json, made, lines.join("\n"))
    yield* Print.note("The API key has every scope and is not shown again. Store it.")
  })
).pipe(
  Command.withDescription(
    "Create an organization with its owner, a channel, and an API key; the key is shown only once"
  ),
  Command.withExamples([
    { command: "messaging-crm init --name Acme --owner-name Ada --owner-email ada@acme.example" },
    {
      command:
        "messaging-crm init --name Acme --owner-name Ada --owner-email ada@acme.example --type phone_messaging --address +493012345678 --business-account 1234 --json"
    }
  ])
)
