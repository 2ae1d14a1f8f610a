/** Organizations and their members. */
import { type AuditRecord, make } from "@messaging-crm/core/Audit"
import { MemberId, OrganizationId } from "@messaging-crm/core/Ids"
import { type Member, MemberRows, type Role, toColumns } from "@messaging-crm/core/Members"
import { OrganizationStore } from "@messaging-crm/core/Organizations"
import { Effect } from "effect"
import { decisionContext, mustCommit, noon, uuid } from "./Base.ts"

/** An audit record about a resource that is not stored yet. */
export const newAuditRecord = Effect.fnUntraced(function*(resource_id: string, fields: Partial<AuditRecord> = {}) {
  const made = make("contacts.create", resource_id, { member_id: null }, null, yield* decisionContext)
  return { ...made, ...fields }
})

/** A new organization and its owner. */
export const organizationWithOwner = Effect.gen(function*() {
  const organization_id = OrganizationId.make(yield* uuid)
  const owner: Member = {
    id: MemberId.make(yield* uuid),
    name: "Grace",
    email: `owner@${organization_id}.example`,
    role: "owner",
    created_at: noon
  }
  yield* OrganizationStore.use((store) =>
    Effect.flatMap(
      newAuditRecord(organization_id, { operation: "organizations.create" }),
      (made) =>
        store.insert(
          { id: organization_id, name: "Acme", default_country: null, created_at: noon },
          toColumns(owner),
          made
        )
    )
  )
  return { organization_id, owner }
})

/** The ID of a new organization. */
export const organization = Effect.map(organizationWithOwner, ({ organization_id }) => organization_id)

/** Adds a member. */
export const member = Effect.fnUntraced(function*(organization_id: OrganizationId, role: Role = "owner") {
  const id = MemberId.make(yield* uuid)
  const row: Member = { id, name: "Ada", email: `${id}@acme.example`, role, created_at: noon }
  yield* mustCommit(organization_id, MemberRows.insert(toColumns(row)))
  return row
})
