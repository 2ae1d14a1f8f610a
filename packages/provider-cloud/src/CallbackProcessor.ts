/**
 * Callback processor: parses the stored callbacks, and passes their events to core.
 *
 * The ingress only splits a body, so that it responds before any event is stored; here each part is parsed.
 * If an event fails, the events of the people after it wait, and the callback is retried.
 */
import { CallbackInbox, type ClaimedCallback } from "@messaging-crm/core/CallbackInbox"
import { slot_wait_max } from "@messaging-crm/core/CallbackOrder"
import type { OrganizationId } from "@messaging-crm/core/Ids"
import { Inbound, type ProviderEvent } from "@messaging-crm/core/Inbound"
import { FileUnavailable } from "@messaging-crm/core/Media"
import { traced } from "@messaging-crm/core/Traces"
import { Turns } from "@messaging-crm/core/Turns"
import { Context, Effect, Exit, Layer, Option } from "effect"
import { groupByAccount, parse, type Parsed, type ParsedEvent } from "./Callback.ts"
import { ignored } from "./Callback/Entry.ts"
import { type CloudAccount, CloudAccounts } from "./CloudAccounts.ts"
import { countUnconnected, report } from "./IgnoredItems.ts"
import { type EventWithFile, makeStoreWithFile, MediaLoader } from "./MediaLoader.ts"
import { Profiles } from "./Profiles.ts"

/** The maximum number of files that are downloaded at once, of which one organization can use half. */
const files_max = 8

const utf8 = new TextDecoder("utf-8", { ignoreBOM: true })

const hasFile = (event: ProviderEvent): event is EventWithFile =>
  "media" in event && event.media !== null && event.media.bytes !== null

/** A callback to process. `id` is null if it is not stored. */
export interface ReceivedCallback
  extends Pick<ClaimedCallback, "attempt" | "body" | "is_ordered" | "received_at" | "source">
{
  readonly id: string | null
}

/** Makes the function that stores located events, with their files. */
const makeProcessEvents = Effect.gen(function*() {
  const inbound = yield* Inbound
  const profiles = yield* Profiles
  const storeWithFile = yield* makeStoreWithFile
  const downloads = new Turns<OrganizationId | null>({ places: files_max, share: "half" })

  /** Starts a lookup of the sender's names. The message does not wait for it. */
  const lookUpNames = (account: CloudAccount, event: ProviderEvent) => {
    if (event.event !== "message_received" || event.from.display_name !== null) return Effect.void
    const { channel_id, from: { external_id } } = event
    return profiles.lookUp(account, external_id, (names) =>
      inbound.receive({
        event: "identity_changed",
        channel_id,
        former_external_id: external_id,
        now: { external_id, ...names }
      }).pipe(Effect.ignore))
  }

  /** Stores an event. A message with a file fails if there is no slot to download it in time. */
  const store = (event: ProviderEvent, callback: ReceivedCallback) =>
    hasFile(event)
      ? inbound.organizationOf(event.channel_id).pipe(
        Effect.flatMap((id) => downloads.runWithin(id, slot_wait_max, storeWithFile(event, callback))),
        Effect.flatMap(Option.match({ onNone: () => new FileUnavailable(), onSome: () => Effect.void }))
      )
      : inbound.receive(event, callback.id)

  /**
   * Processes events one after another, and returns the exits. All of them have the same people, so those after one that fails
   * are left to the retry, until the callback has waited long enough.
   */
  const processEvents = Effect.fnUntraced(
    function*(account: CloudAccount, events: ReadonlyArray<ProviderEvent>, callback: ReceivedCallback) {
      const exits: Array<Exit.Exit<void, unknown>> = []
      for (const event of events) {
        const exit = yield* Effect.andThen(store(event, callback), lookUpNames(account, event)).pipe(
          Effect.catchTag("ChannelUnknown", () => countUnconnected),
          Effect.exit
        )
        exits.push(exit)
        if (Exit.isFailure(exit) && callback.is_ordered) break
      }
      return exits
    }
  )

  return processEvents
})

/** Makes the function that stores the events of one account. If its token cannot be decrypted now, they fail, and are retried until it can. */
const makeProcessAccount = Effect.gen(function*() {
  const accounts = yield* CloudAccounts
  const loader = yield* MediaLoader
  const processEvents = yield* makeProcessEvents

  const eventOf = (account: CloudAccount) => ({ event, file }: ParsedEvent): ProviderEvent => {
    const located: ProviderEvent = { ...event, channel_id: account.channel_id }
    return "media" in located && located.media !== null && file !== null
      ? { ...located, media: { ...located.media, bytes: loader.load(account, file) } }
      : located
  }

  return Effect.fnUntraced(
    function*(callback: ReceivedCallback, parsed: ReadonlyArray<ParsedEvent>) {
      const [first] = parsed
      if (first === undefined) return []
      const located = yield* Effect.orDie(accounts.accountOfKey(callback.source, first.account))
      if (Option.isNone(located)) return yield* Effect.replicateEffect(Effect.exit(countUnconnected), parsed.length)
      const account = located.value
      const events = parsed.map(eventOf(account))
      return yield* processEvents(account, events, callback)
    }
  )
})

/** Service that stores the events of callbacks. */
export class CallbackProcessor extends Context.Service<CallbackProcessor, {
  /**
   * Stores every event of a callback that an app signed. It dies if one cannot be stored; repeating the callback is harmless.
   * If the callback is deleted meanwhile, its other events are not stored.
   *
   * An event without a time gets `received_at`. From then on, a message waits for its file.
   */
  readonly process: (callback: ReceivedCallback) => Effect.Effect<void>
}>()("@messaging-crm/provider-cloud/CallbackProcessor") {
  static readonly layer = Layer.effect(
    CallbackProcessor,
    Effect.gen(function*() {
      const processAccount = yield* makeProcessAccount

      /** Stores every event, and returns whether all were stored, or why not. */
      const processParsed = Effect.fnUntraced(function*(callback: ReceivedCallback, parsed: Parsed) {
        // A stored part of a callback is about one account. Only a body that was not split has several.
        const processed = yield* Effect.forEach(
          groupByAccount(parsed.events),
          (events) => Effect.exit(processAccount(callback, events))
        )
        const exit = Exit.asVoidAll(
          processed.flatMap((exit): ReadonlyArray<Exit.Exit<unknown, unknown>> =>
            Exit.isSuccess(exit) ? exit.value : [exit]
          )
        )
        // Once, and not in each attempt.
        if (Exit.isSuccess(exit)) yield* report(parsed.ignored)
        return exit
      })

      const process = traced("CallbackProcessor.process")(
        function*(callback: ReceivedCallback) {
          const parsed = Option.getOrElse(
            parse(utf8.decode(callback.body), { received_at: callback.received_at }),
            () => ignored("unreadable", "body")
          )
          return yield* Effect.orDie(yield* processParsed(callback, parsed))
        }
      )

      return CallbackProcessor.of({ process })
    })
  )

  /** Layer that processes the callback inbox in the background. */
  static readonly layerLoop = Layer.effectDiscard(Effect.gen(function*() {
    const inbox = yield* CallbackInbox
    const { process } = yield* CallbackProcessor
    yield* Effect.forkScoped(inbox.run(process))
  })).pipe(Layer.provide(CallbackProcessor.layer))
}
