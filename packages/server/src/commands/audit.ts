import { Audit, AuditRecord } from "@messaging-crm/core/Audit"
import { ApiKeyId, MemberId } from "@messaging-crm/core/Ids"
import { Timestamp } from "@messaging-crm/core/Timestamps"
import { Effect, Option, Schema } from "effect"
import { Command, Flag } from "effect/cli"
import * as Admin from "../Admin.ts"
import * as Print from "../Print.ts"

const toJson = Schema.encodeSync(AuditRecord)

const optional = <A>(name: string, schema: Schema.Codec<A, string>, description: string) =>
  Flag.String(name).pipe(Flag.withSchema(schema), Flag.optional, Flag.withDescription(description))

const list = Command.make(
  "list",
  {
    organization: Admin.organization,
    resource: optional("resource", Schema.String.check(Schema.isUUID()), "Only what was done with this resource"),
    key_id: optional("key-id", ApiKeyId, "Only what was done with this key"),
    member: optional("member", MemberId, "Only what was done for this member"),
    before: optional("before", Timestamp, "Only what was done before this time, such as 2026-11-20T12:00:00Z"),
    limit: Flag.Int("limit").pipe(
      Flag.withSchema(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 10_000 }))),
      Flag.withDefault(100),
      Flag.withDescription("At most so many records, up to 10000")
    ),
    json: Print.json
  },
  Effect.fnUntraced(function*({ before, json, key_id, limit, member, organization, resource }) {
    const filters = {
      resource_id: Option.getOrNull(Option.map(resource, (id) => id.toLowerCase())),
      key_id: Option.getOrNull(key_id),
      member_id: Option.getOrNull(member),
      before: Option.getOrNull(before)
    }
    const found = yield* Admin.asOperator(organization, Audit.use((audit) => audit.list(filters, limit)))
    const rows = found.map((row) => toJson(row))
    yield* Print.result(json, rows, Print.table(rows))
  })
).pipe(
  Command.withDescription("List who changed what, the newest first; a record without key and member is an operator's")
)

export const audit = Command.make("audit").pipe(
  Command.withDescription("Records of every write"),
  Command.withSubcommands([list])
)
