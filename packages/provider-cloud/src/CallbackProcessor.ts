/**
 * Callback processor: parses the stored callbacks, and passes their events to core.
 *
 * The ingress only splits a body, so that it responds before any event is stored; here each part is parsed.
 * Each event is processed independently. If one fails, the others are stored all
 * the same, and the callback is retried.
 */
import { CallbackInbox, type ClaimedCallback } from "@messaging-crm/core/CallbackInbox"
import { Inbound, type ProviderEvent } from "@messaging-crm/core/Inbound"
import { FileUnavailable } from "@messaging-crm/core/Media"
import { inOrderByPerson } from "@messaging-crm/core/ProviderEventOrder"
import * as Slots from "@messaging-crm/core/Slots"
import { traced } from "@messaging-crm/core/Traces"
import { Context, Duration, Effect, Exit, Layer, Option, RcMap, Semaphore } from "effect"
import { groupByAccount, parse, type ParsedEvent } from "./Callback.ts"
import { ignored } from "./Callback/Entry.ts"
import { type CloudAccount, CloudAccounts } from "./CloudAccounts.ts"
import { countUnconnected, report } from "./IgnoredItems.ts"
import { MediaLoader } from "./MediaLoader.ts"
import { type EventWithFile, makeStoreWithFile } from "./MessageFiles.ts"
import { Profiles } from "./Profiles.ts"

/** The maximum number of callbacks with files that are processed at once, of which one channel can use half. */
const with_files_max = 8

/**
 * How long a further callback with files waits for a slot. After that it is retried later, so that a network whose files do
 * not arrive does not use up the slots of the inbox.
 */
const with_files_wait_max = Duration.seconds(1)

/** The maximum number of people whose events are processed concurrently. */
const people_at_once_max = 8

const utf8 = new TextDecoder("utf-8", { ignoreBOM: true })

const hasFile = (event: ProviderEvent): event is EventWithFile =>
  "media" in event && event.media !== null && event.media.bytes !== null

/** A callback to process. `id` is null if it is not stored. */
export interface ReceivedCallback extends Pick<ClaimedCallback, "attempt" | "body" | "received_at" | "source"> {
  readonly id: string | null
}

type PersonLocks = RcMap.RcMap<string, Semaphore.Semaphore>

/** Runs an effect while no other effect about one of the same people runs. */
const inTurn = <A, E, R>(locks: PersonLocks, people: ReadonlyArray<string>, effect: Effect.Effect<A, E, R>) =>
  // In one order, so that two callbacks about the same people do not wait for each other.
  people.toSorted().reduce(
    (inner, person) => Effect.scoped(Effect.flatMap(RcMap.get(locks, person), (lock) => lock.withPermit(inner))),
    effect
  )

/** Makes the function that stores located events, with their files. */
const makeProcessEvents = Effect.gen(function*() {
  const inbound = yield* Inbound
  const profiles = yield* Profiles
  const storeWithFile = yield* makeStoreWithFile
  const personLocks: PersonLocks = yield* RcMap.make({ lookup: (_person: string) => Semaphore.make(1) })

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

  const store = (event: ProviderEvent, callback: ReceivedCallback) =>
    hasFile(event) ? storeWithFile(event, callback) : inbound.receive(event, callback.id)

  /** Processes the events of each person in their order, after those of the same person in earlier callbacks. */
  const processEvents = (account: CloudAccount, events: ReadonlyArray<ProviderEvent>, callback: ReceivedCallback) =>
    inOrderByPerson(events, {
      concurrency: people_at_once_max,
      within: (people, process) => inTurn(personLocks, people, process)
    }, (event) =>
      Effect.andThen(store(event, callback), lookUpNames(account, event)).pipe(
        Effect.catchTag("ChannelUnknown", () => countUnconnected),
        Effect.exit
      ))

  return processEvents
})

/** Makes the function that stores the events of one account. If its token cannot be decrypted now, they fail, and are retried until it can. */
const makeProcessAccount = Effect.gen(function*() {
  const accounts = yield* CloudAccounts
  const loader = yield* MediaLoader
  const callbacksWithFiles = Slots.make<string>(with_files_max)
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
      if (!events.some(hasFile)) return yield* processEvents(account, events, callback)
      const processed = yield* callbacksWithFiles.withSlot(
        account.channel_id,
        with_files_wait_max,
        processEvents(account, events, callback)
      )
      if (Option.isSome(processed)) return processed.value
      const withoutFiles = events.filter((event) => !hasFile(event))
      return [...yield* processEvents(account, withoutFiles, callback), Exit.fail(new FileUnavailable())]
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
  readonly process: (callback: ReceivedCallback) => Effect.Effect<void>
}>()("@messaging-crm/provider-cloud/CallbackProcessor") {
  static readonly layer = Layer.effect(
    CallbackProcessor,
    Effect.gen(function*() {
      const processAccount = yield* makeProcessAccount
      const process = traced("CallbackProcessor.process")(
        function*(callback: ReceivedCallback) {
          const parsed = Option.getOrElse(
            parse(utf8.decode(callback.body), { received_at: callback.received_at }),
            () => ignored("unreadable", "body")
          )
          if (callback.attempt === 1) yield* report(parsed.ignored)
          // A stored part of a callback is about one account. Only a body that was not split has several.
          const processed = yield* Effect.forEach(
            groupByAccount(parsed.events),
            (events) => Effect.exit(processAccount(callback, events))
          )
          yield* Effect.orDie(Exit.asVoidAll(processed.flatMap((exit) => Exit.isSuccess(exit) ? exit.value : [exit])))
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
