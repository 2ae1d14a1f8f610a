/**
 * Callback processor: reads the stored callbacks, and passes their events to core.
 *
 * Each event is processed independently. If one fails, the others are stored all
 * the same, and the callback is retried.
 */
import { CallbackInbox } from "@messaging-crm/core/CallbackInbox"
import { inLanes } from "@messaging-crm/core/EventLanes"
import { type ChannelUnknown, Inbound, type ProviderEvent } from "@messaging-crm/core/Inbound"
import { FileUnavailable } from "@messaging-crm/core/Media"
import * as Slots from "@messaging-crm/core/Slots"
import { traced } from "@messaging-crm/core/Traces"
import { Context, DateTime, Duration, Effect, Exit, Layer, Option, RcMap, Semaphore } from "effect"
import { type Notice, read } from "./Callback.ts"
import { ignored } from "./Callback/Notice.ts"
import { type CloudAccount, CloudAccounts } from "./CloudAccounts.ts"
import { countUnconnected, report } from "./IgnoredParts.ts"
import { MediaLoader } from "./MediaLoader.ts"
import { Profiles } from "./Profiles.ts"

/** How long a message may wait for its file. After that it is stored without it. */
const file_wait_max = Duration.hours(1)

/** The maximum number of files that are downloaded at once. One channel gets half at most. */
const files_max = 8

/**
 * The maximum number of callbacks with files that are processed at once, of which one channel can use half, and how long
 * a further callback waits for a slot. After that it is retried later, so that a network whose files do not arrive does
 * not use up the slots of the inbox.
 */
const [with_files_max, with_files_wait_max] = [8, Duration.seconds(1)]

/** The maximum number of people whose events are processed concurrently. */
const lanes_max = 8

const utf8 = new TextDecoder("utf-8", { ignoreBOM: true })

const hasFile = (event: ProviderEvent): boolean =>
  "media" in event && event.media !== null && event.media.bytes !== null

type Store = (event: ProviderEvent) => Effect.Effect<unknown, ChannelUnknown | FileUnavailable>

/** Service that stores the events of callbacks. */
export class CallbackProcessor extends Context.Service<CallbackProcessor, {
  /**
   * Stores every event of a callback that an app signed. If one cannot be stored,
   * it dies after the others are stored; repeating the callback is harmless.
   *
   * An event without a time gets `received_at`.
   */
  readonly receive: (app_id: string, body: Uint8Array, received_at: DateTime.Utc) => Effect.Effect<void>
}>()("@messaging-crm/provider-cloud/CallbackProcessor") {
  static readonly layer = Layer.effect(
    CallbackProcessor,
    Effect.gen(function*() {
      const accounts = yield* CloudAccounts
      const inbound = yield* Inbound
      const loader = yield* MediaLoader
      const profiles = yield* Profiles
      const downloads = Slots.make<string>(files_max)
      const callbacksWithFiles = Slots.make<string>(with_files_max)
      const lanes = yield* RcMap.make({ lookup: (_lane: string) => Semaphore.make(1) })

      const eventOf = (account: CloudAccount) => ({ event, file }: Notice): ProviderEvent => {
        const located: ProviderEvent = { ...event, channel_id: account.channel_id }
        return "media" in located && located.media !== null && file !== null
          ? { ...located, media: { ...located.media, bytes: loader.load(account, file) } }
          : located
      }

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

      /** Stores an event whose file cannot be loaded now, without the file, if it has waited long enough. */
      const storeWithoutFile = Effect.fnUntraced(function*(event: ProviderEvent) {
        if (!("media" in event) || event.media === null) return yield* new FileUnavailable()
        const until = DateTime.addDuration(event.sent_at, file_wait_max)
        if (!DateTime.isGreaterThan(yield* DateTime.now, until)) return yield* new FileUnavailable()
        yield* inbound.receive({ ...event, media: { ...event.media, bytes: null } })
      })

      const storeWhole: Store = (event) => {
        const stored = Effect.catchTag(inbound.receive(event), "FileUnavailable", () => storeWithoutFile(event))
        return hasFile(event) ? downloads.withSlot(event.channel_id, Duration.infinity, stored) : stored
      }

      const processEvent = (account: CloudAccount, store: Store) => (event: ProviderEvent) =>
        Effect.andThen(store(event), lookUpNames(account, event)).pipe(
          Effect.catchTag("ChannelUnknown", () => countUnconnected),
          Effect.exit
        )

      /** Processes events in lanes. A lane starts after the lanes with the same name in earlier callbacks have ended. */
      const processAll = (account: CloudAccount, events: ReadonlyArray<ProviderEvent>) =>
        inLanes(events, {
          concurrency: lanes_max,
          within: (name, lane) => Effect.scoped(Effect.flatMap(RcMap.get(lanes, name), (turn) => turn.withPermit(lane)))
        }, processEvent(account, storeWhole))

      /** Processes what needs no file now: every event without one, and those that have waited long enough for theirs. */
      const processWithoutFiles = Effect.fnUntraced(function*(
        account: CloudAccount,
        events: ReadonlyArray<ProviderEvent>
      ) {
        const stored = yield* processAll(account, events.filter((event) => !hasFile(event)))
        const late = yield* Effect.forEach(events.filter(hasFile), processEvent(account, storeWithoutFile))
        return [...stored, ...late]
      })

      /** Processes the notices of one account. One that cannot be opened now fails, and is retried until it can. */
      const processAccount = Effect.fnUntraced(function*(app_id: string, notices: ReadonlyArray<Notice>) {
        const [first] = notices
        if (first === undefined) return []
        const found = yield* Effect.orDie(accounts.locate(app_id, first.account))
        if (Option.isNone(found)) return yield* Effect.replicateEffect(Effect.exit(countUnconnected), notices.length)
        const account = found.value
        const events = notices.map(eventOf(account))
        if (!events.some(hasFile)) return yield* processAll(account, events)
        const processed = yield* callbacksWithFiles.withSlot(
          account.channel_id,
          with_files_wait_max,
          processAll(account, events)
        )
        return Option.isSome(processed) ? processed.value : yield* processWithoutFiles(account, events)
      })

      const receive = traced("CallbackProcessor.receive")(
        function*(app_id: string, body: Uint8Array, received_at: DateTime.Utc) {
          const found = read(utf8.decode(body), received_at)
          const { ignored: parts, notices } = Option.getOrElse(found, () => ignored("unreadable", "body"))
          yield* report(parts)
          // A stored part of a callback is about one account. Only a body that was not split has several.
          const processed = yield* Effect.forEach(
            Map.groupBy(notices, ({ account }) => JSON.stringify([account.type, account.id])).values(),
            (alike) => Effect.exit(processAccount(app_id, alike))
          )
          yield* Effect.orDie(Exit.asVoidAll(processed.flatMap((exit) => Exit.isSuccess(exit) ? exit.value : [exit])))
        }
      )

      return CallbackProcessor.of({ receive })
    })
  )

  /** Layer that processes the callback inbox in the background. */
  static readonly layerLoop = Layer.effectDiscard(Effect.gen(function*() {
    const inbox = yield* CallbackInbox
    const { receive } = yield* CallbackProcessor
    yield* Effect.forkScoped(inbox.run(({ body, received_at, source }) => receive(source, body, received_at)))
  })).pipe(Layer.provide(CallbackProcessor.layer))
}
