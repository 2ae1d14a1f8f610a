import { Context, Data, type Effect } from "effect"
import type { OrganizationId } from "../kernel/Ids.ts"
import type { Changes } from "./Changes.ts"

/** Something that was decided on has changed since. Nothing was written; load and decide again. */
export class Conflict extends Data.TaggedError("Conflict") {}

/** The idempotency key has a record already. Nothing was written. */
export class KeyUsed extends Data.TaggedError("KeyUsed") {}

/** The claim was taken away while the work went on: what comes of it is for the next claim to say. Nothing was written. */
export class LeaseLost extends Data.TaggedError("LeaseLost") {}

/**
 * Port: applies the changes of one operation.
 *
 * **Contract** (checked by `conformance/Commit.ts`)
 *
 * - All changes are applied, or none. Others see all or none.
 * - An update applies to the version that it names only, sets the given columns
 *   and no others, and moves the version. An expectation holds until the changes
 *   are applied. Otherwise: `Conflict`. Of concurrent commits that rest on one
 *   version of a row exactly one succeeds.
 * - A key that another row has is a `Conflict`: an id, a tag's `name_key`, a
 *   present member's `email_key`, a channel's type and address, a contact
 *   field's `key`, a name on a type of channel, a channel and identity, a
 *   channel and provider message id. For an idempotency key it is `KeyUsed`,
 *   which comes before any `Conflict`.
 * - A removal of a row that is not there changes nothing.
 * - An alias is added unless the name has an owner.
 * - An activity moves `last_activity_at` (and `updated_at` of the contact) and
 *   `last_inbound_at`, never backwards, and leaves the preview to a later one. A
 *   contact's `updated_at` never moves backwards either.
 * - An event that active webhooks of the organization subscribe to is kept with
 *   one pending delivery for each, under `deliveryIdOf`, due when the event was
 *   made, each with work in its webhook's lane. An event without is not kept.
 * - Work is inserted unless there is an item of its kind for its `ref`. It bears
 *   the trace that the commit runs in. Who commits after another's commit has
 *   returned comes behind it in a fifo lane.
 * - `abandon` fails pending deliveries, but for those that are updated beside it.
 * - A settlement of a claim that no longer holds its item is `LeaseLost`.
 * - A row is written once: two updates of one row in one commit are a defect.
 * - Commits at the same time, of whatever organizations, are applied or refused
 *   each on its own.
 * - Nothing of another organization is read or written.
 * - Inside a transaction of the caller it joins that, and a `Conflict` is a
 *   defect: the transaction is lost, and only the caller can begin it again.
 */
export class Commit extends Context.Service<Commit, {
  readonly commit: (
    organization_id: OrganizationId,
    changes: Changes
  ) => Effect.Effect<void, Conflict | KeyUsed | LeaseLost>
}>()("@messaging-crm/core/Commit") {}
