import { ApiKey, ApiKeys, CreateApiKey, Expiry, Scope } from "@messaging-crm/core/ApiKeys"
import { encoder } from "@messaging-crm/core/Codecs"
import { ApiKeyId } from "@messaging-crm/core/Ids"
import { Effect, Redacted } from "effect"
import { Command, Flag } from "effect/cli"
import * as Admin from "../cli/Admin.ts"
import * as Flags from "../cli/Flags.ts"
import * as Print from "../cli/Print.ts"

const toJson = encoder(ApiKey)

const create = Command.make(
  "create",
  {
    organization: Admin.organization,
    member: Flag.String("member").pipe(Flag.withDescription("ID of the owner or admin for whom the key acts")),
    name: Flag.String("name").pipe(Flag.withDescription("Name of the key")),
    scopes: Flag.Literals("scope", Scope.literals).pipe(
      Flag.atLeast(1),
      Flag.withDescription("Permission of the key; repeatable")
    ),
    expires: Flag.Literals("expires", Expiry.literals).pipe(
      Flag.withDescription("Lifetime of the key: 90 days or one year")
    ),
    json: Print.json
  },
  Effect.fnUntraced(function*({ json, member, organization, ...flags }) {
    const input = yield* Admin.typed(CreateApiKey, { ...flags, created_by: member })
    const { api_key, key } = yield* Admin.asOperator(organization, ApiKeys.use((keys) => keys.create(input))).pipe(
      Effect.catchTags({
        MemberNotFound: Admin.reject(
          "No member of this organization has this ID. Find the ID with: messaging-crm members list."
        ),
        MemberMayNotHoldKeys: Admin.reject("Only owners and admins can have keys. Choose another --member.")
      })
    )
    const shown = Redacted.value(key)
    yield* Print.result(
      json,
      { ...toJson(api_key), key: shown },
      `${shown}\nThe key is not shown again. Its ID is ${api_key.id}.`
    )
  })
).pipe(
  Command.withDescription("Create an API key and print it once"),
  Command.withExamples([
    {
      command:
        "messaging-crm keys create --organization $ORGANIZATION_ID --member $MEMBER_ID --name shop --scope contacts:read --expires 90d"
    },
    {
      command:
        "messaging-crm keys create --organization $ORGANIZATION_ID --member $MEMBER_ID --name bot --scope conversations:read --scope messages:send --expires 1y --json"
    }
  ])
)

const list = Admin.list(
  "List the API keys with their last use, without the secrets",
  "keys",
  ApiKeys.use((keys) => keys.list),
  toJson
)

const revoke = Command.make(
  "revoke",
  {
    organization: Admin.organization,
    key_id: Flags.id("key-id", ApiKeyId, "ID of the key"),
    json: Print.json
  },
  Effect.fnUntraced(function*({ json, key_id, organization }) {
    yield* Admin.asOperator(organization, ApiKeys.use((keys) => keys.revoke(key_id))).pipe(
      Effect.catchTag(
        "ApiKeyNotFound",
        Admin.reject("No key of this organization has this ID. Find the ID with: messaging-crm keys list.")
      )
    )
    yield* Print.result(json, { id: key_id }, `Key ${key_id} is revoked.`)
  })
).pipe(
  Command.withDescription("Revoke an API key immediately"),
  Command.withExamples([
    { command: "messaging-crm keys revoke --organization $ORGANIZATION_ID --key-id $KEY_ID" },
    { command: "messaging-crm keys revoke --organization $ORGANIZATION_ID --key-id $KEY_ID --json" }
  ])
)

export const keys = Command.make("keys").pipe(
  Command.withDescription("Manage the API keys of an organization"),
  Command.withSubcommands([create, list, revoke])
)
