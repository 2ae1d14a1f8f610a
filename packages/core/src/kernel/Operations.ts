/**
 * Every operation on an organization's data: who may run it, how it may be retried, and whether it is audited.
 *
 * The table is the one place for these rules. Each operation of a resource runs
 * under its name in the table; the REST API, its OpenAPI document and the audit read it.
 */
import { Context, Effect, Schema } from "effect"
import { type Actor, CurrentActor, Scope } from "./Actor.ts"
import { type Define, traced } from "./Traces.ts"

/** The dates of an operation that a later version of the service lacks, such as `2027-01-31`. */
export interface Deprecation {
  /** The date from which the operation is deprecated. */
  readonly since: string
  /** The date from which the operation may be removed; null if it is not known yet. */
  readonly sunset: string | null
}

/** The rules of one operation. */
export interface Rules {
  /** The scope that an API key needs; null for an operation of operators, which no key may run. */
  readonly scope: Scope | null
  /** Whether a request must carry an idempotency key, or may; null for an operation that writes nothing. */
  readonly idempotency: "required" | "optional" | null
  /**
   * The calls that leave an audit record: those that change something, or all, because the result shows the resource to a key
   * that may lack the scope to read it. Null for none.
   */
  readonly audited: "calls" | "changes" | null
  /** Whether the result holds a secret, so that a recorded response is stored encrypted. */
  readonly is_secret: boolean
  /** Only for a deprecated operation. */
  readonly deprecation?: Deprecation
}

const read = <S extends Scope | null>(scope: S) =>
  ({ scope, idempotency: null, audited: null, is_secret: false }) as const

const write = <const I extends "required" | "optional">(scope: Scope, idempotency: I) =>
  ({ scope, idempotency, audited: "calls", is_secret: false }) as const

/** An operator's command, without an idempotency key. */
const command = { scope: null, idempotency: null, audited: "changes", is_secret: false } as const

/** The operations, by name: the resource, and what is done with it. */
export const operations = {
  "api_keys.create": command,
  "api_keys.list": read(null),
  "api_keys.revoke": command,
  "audit.list": read(null),
  "channel_holds.list": read(null),
  "channels.connect": command,
  "channels.list": read("conversations:read"),
  "channels.resume": command,
  "channels.set_token": command,
  "contact_fields.create": command,
  "contact_fields.list": read("contacts:read"),
  "contacts.add_note": write("contacts:write", "optional"),
  "contacts.create": write("contacts:write", "required"),
  "contacts.erase": command,
  "contacts.export": read(null),
  "contacts.get": read("contacts:read"),
  "contacts.import": command,
  "contacts.list": read("contacts:read"),
  "contacts.update": write("contacts:write", "required"),
  "contacts.upsert": { ...write("contacts:write", "required"), audited: "changes" },
  "conversations.assign": write("conversations:write", "required"),
  "conversations.close": write("conversations:write", "required"),
  "conversations.get": read("conversations:read"),
  "conversations.list": read("conversations:read"),
  "conversations.reopen": write("conversations:write", "required"),
  "events.get": read("webhooks:manage"),
  "events.list": read("webhooks:manage"),
  "members.add": command,
  "members.list": read("members:read"),
  "members.log_out": command,
  "members.remove": command,
  "members.set_role": command,
  "messages.get": read("conversations:read"),
  "messages.list": read("conversations:read"),
  "organizations.create": command,
  "organizations.update": command,
  "sends.get": read("messages:send"),
  "sends.list": read("messages:send"),
  "sends.send": write("messages:send", "required"),
  "sends.start": write("messages:send", "required"),
  "tags.create": write("contacts:write", "optional"),
  "tags.list": read("tags:read"),
  "templates.list": read("templates:read"),
  "webhook_deliveries.list": read("webhooks:manage"),
  "webhook_deliveries.retry": write("webhooks:manage", "required"),
  "webhooks.create": { ...write("webhooks:manage", "optional"), is_secret: true },
  "webhooks.disable": write("webhooks:manage", "required"),
  "webhooks.get": read("webhooks:manage"),
  "webhooks.list": read("webhooks:manage"),
  "webhooks.replay": write("webhooks:manage", "required"),
  "webhooks.rotate_secret": { ...write("webhooks:manage", "required"), is_secret: true },
  "webhooks.test": write("webhooks:manage", "required"),
  "webhooks.update": write("webhooks:manage", "required")
} as const satisfies Readonly<Record<string, Rules>>

type Operations = typeof operations

/** The name of an operation. */
export type Operation = keyof Operations

/** The operations that an API key may run. */
export type KeyedOperation = { [O in Operation]: Operations[O]["scope"] extends Scope ? O : never }[Operation]

/** The operations that an API key may run and that write. */
export type KeyedWrite = {
  [O in KeyedOperation]: Operations[O]["idempotency"] extends string ? O : never
}[KeyedOperation]

/** The operations that leave an audit record. */
export type AuditedOperation = { [O in Operation]: Operations[O]["audited"] extends string ? O : never }[Operation]

/** The rules of an operation, in one type for all of them. */
export const rulesOf = (operation: Operation): Rules => operations[operation]

const isAudited = (operation: Operation): operation is AuditedOperation => rulesOf(operation).audited !== null

// `Object.keys` loses the type of the names.
const names = Object.keys(operations) as ReadonlyArray<Operation>

/** Schema for the name of an audited operation. */
export const AuditedOperation = Schema.Literals(names.filter(isAudited))

/** The caller's API key lacks the scope of the operation, or no API key may run it. */
export class InsufficientScope extends Schema.TaggedError<InsufficientScope>()("InsufficientScope", {
  operation: Schema.Literals(names),
  /** The scope that the key lacks; null where no API key may run the operation. */
  required: Schema.NullOr(Scope)
}) {}

/** An actor without an API key, such as an operator, may run every operation. */
const isAllowed = ({ scopes }: Actor, operation: Operation): boolean => {
  const { scope } = rulesOf(operation)
  return scopes === undefined || (scope !== null && scopes.includes(scope))
}

const insufficient = (operation: Operation) => new InsufficientScope({ operation, required: rulesOf(operation).scope })

/** Fails with `InsufficientScope` unless the current actor may run the operation. */
export const authorize = (operation: Operation): Effect.Effect<void, InsufficientScope, CurrentActor> =>
  CurrentActor.use((actor) => isAllowed(actor, operation) ? Effect.void : Effect.fail(insufficient(operation)))

/** Fails with `InsufficientScope` if the current actor's key lacks one of the scopes that a call needs in addition. */
export const requireScopes = (
  operation: Operation,
  needed: ReadonlyArray<Scope>
): Effect.Effect<void, InsufficientScope, CurrentActor> =>
  CurrentActor.use(({ scopes }) => {
    const required = needed.find((scope) => scopes !== undefined && !scopes.includes(scope))
    return required === undefined ? Effect.void : Effect.fail(new InsufficientScope({ operation, required }))
  })

/**
 * Makes an operation of a generator function: each call has a span with the operation's name.
 *
 * A call by an actor that may not run it is a defect and does nothing, so a caller
 * that forgets to `authorize` gets no data.
 */
export const operation = (name: Operation): Effect.fn.Untraced => {
  const define = (...definition: ReadonlyArray<unknown>) => {
    const run = (traced(name) as Define)(...definition)
    return (...values: ReadonlyArray<unknown>) =>
      // Every operation requires the actor, which the types of `Effect.fn` cannot add.
      Effect.withFiber(({ context }) =>
        isAllowed(Context.getUnsafe(context, CurrentActor), name) ? run(...values) : Effect.die(insufficient(name))
      )
  }
  return define as Effect.fn.Untraced
}
