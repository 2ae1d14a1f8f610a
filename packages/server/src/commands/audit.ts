import { Audit, AuditRecord } from "@messaging-crm/core/Audit"
import { encoder } from "@messaging-crm/core/Codecs"
import { ApiKeyId, MemberId } from "@messaging-crm/core/Ids"
import { RequestTime } from "@messaging-crm/core/Timestamps"
import { Effect, Option, Schema } from "effect"
import { Command, Flag } from "effect/cli"
import * as Admin from "../cli/Admin.ts"
import * as Flags from "../cli/Flags.ts"
import * as Print from "../cli/Print.ts"

const toJson = encoder(AuditRecord)

const filter = <A>(name: string, schema: Schema.Codec<A, string>, description: string) =>
  Flag.String(name).pipe(Flag.withSchema(schema), Flags.optional(description, "all"))

const list = Command.make(
  "list",
  {
    organization: Admin.organization,
    resource: filter("resource", Schema.String.check(Schema.isUUID()), "Only writes to the resource with this ID"),
    key_id: filter("key-id", ApiKeyId, "Only writes with this key"),
    member: filter("member", MemberId, "Only writes on behalf of this member"),
    before: filter("before", RequestTime, "Only writes before this time, such as 2026-11-20T12:00:00Z"),
    limit: Flag.Int("limit").pipe(
      Flag.withSchema(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 10_000 }))),
      Flags.withDefault(100, "Maximum number of records, up to 10000")
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
  Command.withDescription(
    "List audit records, newest first; records with neither a key nor a member come from operator commands"
  ),
  Command.withExamples([
    { command: "messaging-crm audit list --organization $ORGANIZATION_ID --limit 10" },
    { command: "messaging-crm audit list --organization $ORGANIZATION_ID --resource $CONTACT_ID --json" }
  ])
)

export const audit = Command.make("audit").pipe(
  Command.withDescription("Read the audit records of an organization"),
  Command.withSubcommands([list])
)
