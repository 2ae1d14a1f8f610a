import { MemberId, OrganizationId } from "@messaging-crm/core/Ids"
import { Member, MemberEmailTaken, MemberStore } from "@messaging-crm/core/Members"
import { Effect, Layer, Option, Schema } from "effect"
import { SqlClient, SqlSchema } from "effect/sql"
import { At, date, OptionalAt } from "./Columns.ts"

const Row = Schema.Struct({ ...Member.fields, created_at: At })

/** Layer that keeps members in PostgreSQL. */
export const layer = Layer.effect(
  MemberStore,
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient

    const find = SqlSchema.findOneOption({
      Request: Schema.Struct({ organization_id: OrganizationId, id: MemberId }),
      Result: Schema.Struct({ ...Row.fields, left_at: OptionalAt }),
      execute: ({ id, organization_id }) =>
        sql`
          SELECT id, name, email, role, created_at, left_at
          FROM members
          WHERE organization_id = ${organization_id} AND id = ${id}
        `
    })

    const list = SqlSchema.findAll({
      Request: OrganizationId,
      Result: Row,
      execute: (organization_id) =>
        sql`
          SELECT id, name, email, role, created_at
          FROM members
          WHERE organization_id = ${organization_id} AND left_at IS NULL
          ORDER BY created_at, id
        `
    })

    return MemberStore.of({
      insert: (organization_id, member, email_key) =>
        sql`
          INSERT INTO members ${
          sql.insert({ ...member, organization_id, email_key, created_at: date(member.created_at) })
        }
          ON CONFLICT (organization_id, email_key) WHERE left_at IS NULL DO NOTHING
          RETURNING id
        `.pipe(
          Effect.orDie,
          Effect.flatMap((inserted) =>
            inserted.length === 1 ? Effect.void : new MemberEmailTaken({ email: member.email })
          )
        ),
      find: (organization_id, id) =>
        find({ organization_id, id }).pipe(
          Effect.map(Option.map(({ left_at, ...member }) => ({ member, left_at }))),
          Effect.orDie
        ),
      list: (organization_id) => Effect.orDie(list(organization_id)),
      setRole: (organization_id, id, role) =>
        sql`
          UPDATE members
          SET role = ${role}
          WHERE organization_id = ${organization_id} AND id = ${id} AND left_at IS NULL
          RETURNING id
        `.pipe(Effect.map((changed) => changed.length === 1), Effect.orDie),
      remove: (organization_id, id, left_at) =>
        sql`
          UPDATE members
          SET left_at = ${date(left_at)}
          WHERE organization_id = ${organization_id} AND id = ${id} AND left_at IS NULL
          RETURNING id
        `.pipe(Effect.map((changed) => changed.length === 1), Effect.orDie)
    })
  })
)
