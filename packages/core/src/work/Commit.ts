import { Context, Data, type Effect } from "effect"
import type { EventId, OrganizationId } from "../kernel/Ids.ts"
import type { Changes } from "./Changes.ts"

/** A row that the decision depends on has changed since it was loaded. Nothing was written: load and decide again. */
export class Conflict extends Data.TaggedError("Conflict") {}

/** The idempotency key already has a record. Nothing was written. */
export class KeyUsed extends Data.TaggedError("KeyUsed") {}

/**
 * The lease of the claimed work has ended, or the callback was deleted.
 *
 * Another process may have processed it. Nothing was written.
 */
export class LeaseLost extends Data.TaggedError("LeaseLost") {}

/**
 * The database did not confirm a commit with an idempotency record, so it may or may not have been applied. To find out,
 * commit again with the same record: that commit fails with `KeyUsed`, or takes effect.
 */
export class Unconfirmed extends Data.TaggedError("Unconfirmed") {}

/** The defect of an operation while its organization is closed for a moment. Nothing was written: repeat the request. */
export class OrganizationClosed extends Data.TaggedError("OrganizationClosed") {}

/** An event to which webhooks subscribe, with what a commit stored. */
export interface SubscribedEvent {
  readonly id: EventId
  /** How many deliveries the commit added. */
  readonly deliveries: number
  /** Whether the commit stored its resource. */
  readonly is_full: boolean
}

/** Why a commit is not known to be applied. */
export type CommitFailure = Conflict | KeyUsed | LeaseLost | Unconfirmed

/**
 * Port: applies the changes of one operation atomically.
 *
 * **Contract** (checked by `conformance/Ports/Commit.ts`)
 *
 * - All changes are applied, or none. Readers see all of them or none.
 * - An update applies only to the version that it names. It sets the given
 *   columns and no others, and increments the version. An expectation must hold
 *   until the changes are applied. Otherwise: `Conflict`. Of concurrent commits
 *   that update one version of a row, exactly one succeeds.
 * - A second row with the `key` of a table, or with its `unique` columns
 *   (`Table.ts`), is a `Conflict`. A duplicate idempotency key is `KeyUsed`,
 *   which takes precedence over `Conflict`.
 * - A removal of a row that does not exist changes nothing.
 * - An alias is added unless its network ID already belongs to an identity.
 * - An activity moves `last_activity_at` (and `updated_at` of the contact) and
 *   `last_inbound_at`, never backwards. It sets the preview unless a later
 *   activity has set it. An update may set the preview and remove `last_inbound_at`,
 *   but moves none of these times backwards.
 * - An event is stored with one `webhook_event` item, due at the event's time, if an active webhook of
 *   the organization subscribes to it. Its resource is stored if one of them asks for it.
 * - Expanding an event adds a pending delivery for each active webhook that subscribes to it and was not created after it.
 *   The delivery's ID is `deliveryIdOf`. It is due at the event's time, and has work in its webhook's lane.
 *   A delivery that exists stays as it is, and an event that does not exist adds nothing.
 * - The commit returns the subscribed events that it stores, and the expanded ones that get deliveries.
 * - Work is inserted unless an item of its kind exists for its `ref`. It carries
 *   the trace that the commit runs in. In a fifo lane, if a commit begins after
 *   another one has returned, its work is queued after that commit's work.
 * - An expedited item is due at the given time, and otherwise unchanged. `Conflict` if it is claimed or does not exist.
 * - An audit record is stored with the other changes.
 * - `abandon` fails pending deliveries, except those that the same commit updates.
 * - A settlement by a claim that no longer holds its item is `LeaseLost`. So are changes from a stored callback that
 *   is deleted; it is not deleted until they are applied.
 * - A row is written once: two updates of one row in one commit are a defect.
 * - Each of several concurrent commits, of any organizations, is applied or
 *   rejected independently of the others.
 * - No row of another organization is read or written.
 * - A commit whose outcome is not known is `Unconfirmed` if it has an idempotency
 *   record, and otherwise a defect. Every other failure has written nothing.
 * - Inside a transaction of the caller, the commit is part of it. There a
 *   `Conflict` is a defect: the transaction has failed, and only the caller can
 *   begin it again.
 */
export class Commit extends Context.Service<Commit, {
  readonly commit: (
    organization_id: OrganizationId,
    changes: Changes
  ) => Effect.Effect<ReadonlyArray<SubscribedEvent>, CommitFailure>
}>()("@messaging-crm/core/Commit") {}
