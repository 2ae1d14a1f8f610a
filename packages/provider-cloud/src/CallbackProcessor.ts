/**
 * Callback processor: parses the stored callbacks, and passes their events to core.
 *
 * The ingress only splits a body, so that it responds before any event is stored; here each part is parsed.
 * Each event is processed independently. If one fails, the others are stored all
 * the same, and the callback is retried.
 */
import { CallbackInbox, type ClaimedCallback } from "@messaging-crm/core/CallbackInbox"
import type { OrganizationId } from "@messaging-crm/core/Ids"
import { Inbound, type ProviderEvent } from "@messaging-crm/core/Inbound"
import { FileUnavailable } from "@messaging-crm/core/Media"
import { inOrderByPerson, order_wait_max, subjectsOf } from "@messaging-crm/core/ProviderEventOrder"
import { traced } from "@messaging-crm/core/Traces"
import { Turns } from "@messaging-crm/core/Turns"
import { Context, DateTime, Duration, Effect, Exit, Layer, Option } from "effect"
import { groupByAccount, parse, type Parsed, type ParsedEvent } from "./Callback.ts"
import { ignored } from "./Callback/Entry.ts"
import { type CloudAccount, CloudAccounts } from "./CloudAccounts.ts"
import { countUnconnected, report } from "./IgnoredItems.ts"
import { type EventWithFile, makeStoreWithFile, MediaLoader } from "./MediaLoader.ts"
import * as PersonTurns from "./PersonTurns.ts"
import { Profiles } from "./Profiles.ts"

/** The maximum number of files that are downloaded at once, of which one organization can use half. */
const files_max = 8

/**
 * How long a message waits for a slot to download its file, and a callback for an earlier one of the same person. After that
 * it is retried later, so that a network whose files do not arrive does not use up the slots of the inbox.
 */
const turn_wait_max = Duration.seconds(1)

/** The maximum number of people whose events are processed concurrently. */
const people_at_once_max = 8

const utf8 = new TextDecoder("utf-8", { ignoreBOM: true })

const hasFile = (event: ProviderEvent): event is EventWithFile =>
  "media" in event && event.media !== null && event.media.bytes !== null

/** A callback to process. `id` is null if it is not stored. */
export interface ReceivedCallback extends Pick<ClaimedCallback, "attempt" | "body" | "received_at" | "source"> {
  readonly id: string | null
}

/** The result of an event that waits for an earlier one of the same person. */
const notInTurn = Exit.fail(new FileUnavailable())

const waitsForFile = (exit: Exit.Exit<unknown, unknown>): boolean =>
  Option.exists(Exit.findErrorOption(exit), (error) => error instanceof FileUnavailable)

/** Returns whether a callback is processed in order. One that waited long enough delays no later one, and waits for none. */
const isInOrder = ({ received_at }: ReceivedCallback) =>
  Effect.map(
    DateTime.now,
    (now) => DateTime.isGreaterThan(received_at, DateTime.subtractDuration(now, order_wait_max))
  )

/** Returns the people and messages that events are about, each with its account. */
const aboutOf = (events: ReadonlyArray<ParsedEvent>): ReadonlyArray<string> =>
  Array.from(
    new Set(events.flatMap(({ account: { id, type }, event }) =>
      subjectsOf(event).map((subject) => JSON.stringify([type, id, subject]))
    ))
  )

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
        Effect.flatMap((id) => downloads.runWithin(id, turn_wait_max, storeWithFile(event, callback))),
        Effect.flatMap(Option.match({ onNone: () => new FileUnavailable(), onSome: () => Effect.void }))
      )
      : inbound.receive(event, callback.id)

  /**
   * Processes the events of each person in their order. After one that waits for its file, the person's later ones wait too, so
   * that all are retried in order, until the callback has waited long enough.
   */
  const processEvents = Effect.fnUntraced(
    function*(account: CloudAccount, events: ReadonlyArray<ProviderEvent>, callback: ReceivedCallback) {
      const isOrdered = yield* isInOrder(callback)
      const waiting = new Set<string>()
      const mustWait = (event: ProviderEvent) => isOrdered && subjectsOf(event).some((each) => waiting.has(each))

      const processEvent = (event: ProviderEvent) =>
        Effect.andThen(store(event, callback), lookUpNames(account, event)).pipe(
          Effect.catchTag("ChannelUnknown", () => countUnconnected),
          Effect.exit
        )

      return yield* inOrderByPerson(
        events,
        { concurrency: people_at_once_max },
        (event) =>
          Effect.suspend(() => mustWait(event) ? Effect.succeed(notInTurn) : processEvent(event)).pipe(
            Effect.tap((exit) =>
              Effect.sync(() => {
                if (waitsForFile(exit)) subjectsOf(event).forEach((each) => waiting.add(each))
              })
            )
          )
      )
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
   * Stores every event of a callback that an app signed. If one cannot be stored,
   * it dies after the others are stored; repeating the callback is harmless.
   * If the callback is deleted meanwhile, its other events are not stored.
   *
   * An event without a time gets `received_at`. From then on, a message waits for its file.
   */
  readonly process: (callback: ReceivedCallback) => Effect.Effect<void | "not in turn">
}>()("@messaging-crm/provider-cloud/CallbackProcessor") {
  static readonly layer = Layer.effect(
    CallbackProcessor,
    Effect.gen(function*() {
      const processAccount = yield* makeProcessAccount
      const inTurn = yield* PersonTurns.make(turn_wait_max)

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
          const processed = processParsed(callback, parsed)
          const exit = (yield* isInOrder(callback))
            ? yield* inTurn(aboutOf(parsed.events), processed, notInTurn)
            : yield* processed
          if (exit === notInTurn) return "not in turn" as const
          return yield* Effect.orDie(exit)
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
