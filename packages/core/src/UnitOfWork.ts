import { Context, type Effect } from "effect"

/**
 * Port: all-or-nothing execution of several writes.
 *
 * **Contract** (checked by `conformance/UnitOfWork.ts`)
 *
 * - When `effect` fails, dies or is interrupted, none of its writes remain.
 * - Other fibers see all of its writes or none.
 * - A nested call joins the outer one: only the outermost commits, and a nested
 *   failure that is caught undoes the nested writes alone.
 *
 * **Details**
 *
 * Units of work that need the same things take them in one order, so that none
 * waits for another in a circle: provider message, identity, conversation,
 * send, message, webhook, delivery, lane (those of webhooks first, by id), work.
 */
export class UnitOfWork extends Context.Service<UnitOfWork, {
  readonly transact: <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
}>()("@messaging-crm/core/UnitOfWork") {}
