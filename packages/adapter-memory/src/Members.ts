import type { MemberId, OrganizationId } from "@messaging-crm/core/Ids"
import { MemberEmailTaken, MemberStore } from "@messaging-crm/core/Members"
import { Effect, Layer, Option } from "effect"
import { byAge } from "./Order.ts"
import * as Table from "./Table.ts"
import { type Rows, World } from "./World.ts"

const present = (rows: Rows, organization_id: OrganizationId, id: MemberId) =>
  Option.filter(Table.get(rows.members, organization_id, id), (row) => row.left_at === null)

/** Layer that keeps members in the in-memory world. */
export const layer = Layer.effect(
  MemberStore,
  Effect.gen(function*() {
    const world = yield* World

    return MemberStore.of({
      insert: (organization_id, member, email_key) =>
        world.modify((rows) => {
          if (Table.has(rows.member_emails, organization_id, email_key)) return [false, rows]
          return [true, {
            ...rows,
            members: Table.set(rows.members, organization_id, member.id, { member, email_key, left_at: null }),
            member_emails: Table.set(rows.member_emails, organization_id, email_key, member.id)
          }]
        }).pipe(
          Effect.flatMap((inserted) => inserted ? Effect.void : new MemberEmailTaken({ email: member.email }))
        ),
      find: (organization_id, id) =>
        world.read((rows) =>
          Option.map(Table.get(rows.members, organization_id, id), ({ left_at, member }) => ({ member, left_at }))
        ),
      list: (organization_id) =>
        world.read((rows) =>
          Table.all(rows.members, organization_id)
            .filter((row) => row.left_at === null)
            .map((row) => row.member)
            .toSorted(byAge)
        ),
      setRole: (organization_id, id, role) =>
        world.modify((rows) => {
          const found = present(rows, organization_id, id)
          if (Option.isNone(found)) return [false, rows]
          const row = { ...found.value, member: { ...found.value.member, role } }
          return [true, { ...rows, members: Table.set(rows.members, organization_id, id, row) }]
        }),
      remove: (organization_id, id, left_at) =>
        world.modify((rows) => {
          const found = present(rows, organization_id, id)
          if (Option.isNone(found)) return [false, rows]
          return [true, {
            ...rows,
            members: Table.set(rows.members, organization_id, id, { ...found.value, left_at }),
            member_emails: Table.remove(rows.member_emails, organization_id, found.value.email_key)
          }]
        })
    })
  })
)
