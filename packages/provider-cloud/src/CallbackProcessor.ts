/**
 * Callback processor: passes the events of callbacks to core, and loads the files of messages.
 *
 * Each notice is processed independently. If one fails, the others are stored all
 * the same, and the callback is retried.
 */
import { CallbackInbox } from "@messaging-crm/core/CallbackInbox"
import { Inbound, inLanes, type ProviderEvent, subjectOf } from "@messaging-crm/core/Inbound"
import { FileUnavailable } from "@messaging-crm/core/Media"
import * as Slots from "@messaging-crm/core/Slots"
import { Context, DateTime, Duration, Effect, Exit, Layer, Metric, Option, RcMap, Semaphore } from "effect"
import { type Ignored, type Notice, type Notices, read } from "./Callback.ts"
import { isDocumented } from "./Callback/Kinds.ts"
import { ignored } from "./Callback/Notice.ts"
import { type CloudAccount, CloudAccounts } from "./CloudAccounts.ts"
import { MediaLoader } from "./MediaLoader.ts"
import { callbacks_ignored } from "./Metrics.ts"
import { Profiles } from "./Profiles.ts"

/** How long a message may wait for its file. After that it is stored without it. */
const file_wait_max = Duration.hours(1)

/** The maximum number of files that are downloaded at once. One account gets half at most. */
const files_max = 8

/**
 * The maximum number of callbacks with files that are processed at once, of one account half at most, and how long another
 * waits for its turn. After that it is retried later, so that a network whose files do not come does not use up the places
 * of the inbox.
 */
const [with_files_max, with_files_wait_max] = [8, Duration.seconds(1)]

/** The maximum number of people whose notices are processed concurrently. */
const lanes_max = 8

const utf8 = new TextDecoder("utf-8", { ignoreBOM: true })

/** The content of a body that is not a callback. */
const unreadable: Notices = ignored("unreadable", "body")

const countUnconnected = Metric.update(
  Metric.withAttributes(callbacks_ignored, { reason: "unconnected", kind: "other" }),
  1
)

/** Counts and logs parts that are ignored. Those that no documentation explains are logged at a higher level. */
const report = (parts: ReadonlyArray<Ignored>) =>
  Effect.forEach(
    Map.groupBy(parts, ({ kind, reason }) => JSON.stringify([reason, kind])).values(),
    Effect.fnUntraced(function*([part, ...others]) {
      if (part === undefined) return
      const { kind, reason } = part
      const count = 1 + others.length
      const label = isDocumented(kind) ? kind : "other"
      yield* Metric.update(Metric.withAttributes(callbacks_ignored, { reason, kind: label }), count)
      const log = reason === "unknown" || reason === "unreadable" ? Effect.logInfo : Effect.logDebug
      yield* Effect.annotateLogs(log("Callback part ignored"), { reason, kind, count })
    }),
    { discard: true }
  )

/** Returns what names the account of a notice. */
const accountOf = ({ account }: Notice): string => JSON.stringify([account.type, account.id])

/** Returns the lane of a notice. Notices of one lane are processed in order, so that a person's messages keep their order. */
const laneOf = ({ account, event }: Notice): string => JSON.stringify([account.type, account.id, subjectOf(event)])

/** Returns the account of a notice; none if no channel is connected to it. */
type Locate = (notice: Notice) => Effect.Effect<Option.Option<CloudAccount>>

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
      const files = Slots.make<string>(files_max)
      const withFiles = Slots.make<string>(with_files_max)
      const loader = yield* MediaLoader
      const profiles = yield* Profiles
      const turns = yield* RcMap.make({ lookup: (_lane: string) => Semaphore.make(1) })

      const eventOf = (account: CloudAccount, { event, file }: Notice): ProviderEvent => {
        const located: ProviderEvent = { ...event, channel_id: account.channel_id }
        return "media" in located && located.media !== null && file !== null
          ? { ...located, media: { ...located.media, bytes: loader.load(account, file) } }
          : located
      }

      /** Stores an event without its file, if it has waited for it long enough. */
      const receiveFileless = Effect.fnUntraced(function*(event: ProviderEvent) {
        if (!("media" in event) || event.media === null) return yield* new FileUnavailable()
        const now = yield* DateTime.now
        const isLate = DateTime.isGreaterThan(now, DateTime.addDuration(event.sent_at, file_wait_max))
        if (!isLate) return yield* new FileUnavailable()
        yield* inbound.receive({ ...event, media: { ...event.media, bytes: null } })
      })

      /** Begins to look up the names of the person who wrote, which their message does not wait for. */
      const lookUp = (account: CloudAccount, event: ProviderEvent) => {
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

      /** Finds the accounts of notices, each once. A callback whose account cannot be opened now is repeated until it can. */
      const locateAll = Effect.fnUntraced(function*(app_id: string, notices: ReadonlyArray<Notice>) {
        const names = new Map(notices.map((notice) => [accountOf(notice), notice.account]))
        const found = yield* Effect.forEach(
          names,
          ([name, account]) =>
            Effect.map(Effect.exit(Effect.orDie(accounts.locate(app_id, account))), (exit) => [name, exit] as const)
        )
        const byName = new Map(found)
        return (notice: Notice) => byName.get(accountOf(notice)) ?? Effect.succeedNone
      })

      /** Finds the channel of a notice, and passes its event on. */
      const receiveNotice = Effect.fnUntraced(
        function*(locate: Locate, notice: Notice, pass: (event: ProviderEvent) => ReturnType<typeof inbound.receive>) {
          const found = yield* locate(notice)
          if (Option.isNone(found)) return yield* countUnconnected
          const event = eventOf(found.value, notice)
          yield* pass(event)
          yield* lookUp(found.value, event)
        },
        // Repeating an event for an unknown channel would not help, so it counts as received.
        Effect.catchTag("ChannelUnknown", () => countUnconnected)
      )

      const receiveWhole = (locate: Locate, notice: Notice) => {
        const received = receiveNotice(
          locate,
          notice,
          (event) => Effect.catchTag(inbound.receive(event), "FileUnavailable", () => receiveFileless(event))
        )
        return Effect.exit(
          notice.file === null ? received : files.withSlot(accountOf(notice), Duration.infinity, received)
        )
      }

      /** Processes notices in lanes. A lane begins after those of the same name that began before. */
      const receiveAll = (locate: Locate, notices: ReadonlyArray<Notice>) =>
        inLanes(notices, {
          laneOf,
          concurrency: lanes_max,
          within: (name, lane) => Effect.scoped(Effect.flatMap(RcMap.get(turns, name), (turn) => turn.withPermit(lane)))
        }, (notice) => receiveWhole(locate, notice))

      /** Processes what needs no file now: a notice that has waited long enough for its file, and every one without. */
      const receiveSome = Effect.fnUntraced(function*(locate: Locate, notices: ReadonlyArray<Notice>) {
        const taken = yield* receiveAll(locate, notices.filter(({ file }) => file === null))
        const late = yield* Effect.forEach(
          notices.filter(({ file }) => file !== null),
          (notice) => Effect.exit(receiveNotice(locate, notice, receiveFileless))
        )
        return [...taken, ...late]
      })

      /** Processes notices of which some have files, unless too many are waiting for files. */
      const receiveInTurn = (locate: Locate, notices: ReadonlyArray<Notice>) =>
        Effect.flatMap(
          withFiles.withSlot(
            notices.filter(({ file }) => file !== null).map(accountOf)[0] ?? "",
            with_files_wait_max,
            receiveAll(locate, notices)
          ),
          Option.match({ onNone: () => receiveSome(locate, notices), onSome: Effect.succeed })
        )

      const receive = Effect.fn("CallbackProcessor.receive")(
        function*(app_id: string, body: Uint8Array, received_at: DateTime.Utc) {
          const { ignored: parts, notices } = Option.getOrElse(read(utf8.decode(body), received_at), () => unreadable)
          yield* report(parts)
          const locate = yield* locateAll(app_id, notices)
          const hasFiles = notices.some(({ file }) => file !== null)
          const taken = yield* hasFiles ? receiveInTurn(locate, notices) : receiveAll(locate, notices)
          yield* Effect.orDie(Exit.asVoidAll(taken))
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
