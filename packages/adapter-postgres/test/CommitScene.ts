/** Operations that the tests of commits share. */
import { CurrentActor } from "@messaging-crm/core/Actor"
import { ContactStore } from "@messaging-crm/core/Contacts"
import type { ContactId, OrganizationId } from "@messaging-crm/core/Ids"
import { conflicts } from "@messaging-crm/core/Metrics"
import { Effect, Metric, Option } from "effect"

export const actor = (organization_id: OrganizationId) =>
  Effect.provideService(CurrentActor, { organization_id, member_id: null })

/** The number of conflicts in this test run so far, after each of which a commit was decided again. */
export const conflictCount = Effect.map(Metric.value(conflicts.of({})), ({ count }) => Number(count))

export const loadContact = (organization_id: OrganizationId, id: ContactId) =>
  Effect.map(ContactStore.use((store) => store.load(organization_id, id)), Option.getOrThrow)

export const unbounded = { concurrency: "unbounded" } as const
