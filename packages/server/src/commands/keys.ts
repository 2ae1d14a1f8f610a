import { ApiKey, ApiKeys, CreateApiKey, Expiry, Scope } from "@messaging-crm/core/ApiKeys"
import { ApiKeyId } from "@messaging-crm/core/Ids"
import { Effect, Redacted, Schema } from "effect"
import { Command, Flag } from "effect/cli"
import * as Admin from "../Admin.ts"
import * as Print from "../Print.ts"

const toJson = Schema.encodeSync(ApiKey)

const create = Command.make(
  "create",
  {
    organization: Admin.organization,
    member: Flag.String("member").pipe(Flag.withDescription("The id of the owner or admin for whom the key acts")),
    name: Flag.String("name").pipe(Flag.withDescription("A name for the key")),
    scopes: Flag.Literals("scope", Scope.literals).pipe(
      Flag.atLeast(1),
      Flag.withDescription("May be given several times")
    ),
    expires: Flag.Literals("expires", Expiry.literals).pipe(Flag.withDescription("90d or 1y")),
    json: Print.json
  },
  Effect.fnUntraced(function*({ json, member, organization, ...flags }) {
    const input = yield* Admin.typed(CreateApiKey, { ...flags, created_by: member })
    const { api_key, key } = yield* Admin.asOperator(organization, ApiKeys.use((keys) => keys.create(input))).pipe(
      Effect.catchTags({
        MemberNotFound: Admin.refuse("The organization has no such member."),
        MemberMayNotHoldKeys: Admin.refuse("Only owners and admins may hold keys.")
      })
    )
    const shown = Redacted.value(key)
    yield* Print.result(
      json,
      { ...toJson(api_key), key: shown },
      `${shown}\nThe key is not shown again. Its id is ${api_key.id}.`
    )
  })
).pipe(Command.withDescription("Create a key and print it, once"))

const list = Admin.list(
  "List the keys with their last use, without the secrets themselves",
  ApiKeys.use((keys) => keys.list),
  toJson
)

const revoke = Command.make(
  "revoke",
  {
    organization: Admin.organization,
    key_id: Flag.String("key-id").pipe(Flag.withSchema(ApiKeyId), Flag.withDescription("The id of the key")),
    json: Print.json
  },
  Effect.fnUntraced(function*({ json, key_id, organization }) {
    yield* Admin.asOperator(organization, ApiKeys.use((keys) => keys.revoke(key_id))).pipe(
      Effect.catchTag("ApiKeyNotFound", Admin.refuse("The organization has no such key."))
    )
    yield* Print.result(json, { id: key_id }, `Key ${key_id} is revoked.`)
  })
).pipe(Command.withDescription("Revoke a key at once"))

export const keys = Command.make("keys").pipe(
  Command.withDescription("API keys of an organization"),
  Command.withSubcommands([create, list, revoke])
)
