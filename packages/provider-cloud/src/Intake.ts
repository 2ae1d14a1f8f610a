/**
 * Intake: passes the events of callbacks to core, and loads the files of messages.
 *
 * Each notice is processed independently. If one fails, the others are stored all
 * the same, and the callback is retried.
 */
import { CallbackInbox } from "@messaging-crm/core/CallbackInbox"
import { Inbound, type ProviderEvent } from "@messaging-crm/core/Inbound"
import { FileUnavailable } from "@messaging-crm/core/Media"
import { Context, DateTime, Duration, Effect, Exit, Layer, Metric, Option, RcMap, Semaphore } from "effect"
import { type Notice, type Notices, read } from "./Callback.ts"
import { type CloudAccount, CloudAccounts } from "./CloudAccounts.ts"
import { MediaLoader } from "./MediaLoader.ts"
import { callbacks_ignored } from "./Metrics.ts"

/** How long a message may wait for its file. After that it is stored without it. */
const file_wait_max = Duration.hours(1)

/** The maximum number of files that are downloaded at once. */
const files_max = 4

/** The maximum number of people whose notices are processed concurrently. */
const lanes_max = 8

const utf8 = new TextDecoder("utf-8", { ignoreBOM: true })

/** The content of a body that is not a callback. */
const unreadable: Notices = { notices: [], ignored: ["unreadable"] }

const countIgnored = (reason: string) => Metric.update(Metric.withAttributes(callbacks_ignored, { reason }), 1)

/** Returns the lane of a notice. Notices of one lane are processed in order, so that a person's messages keep their order. */
const laneOf = ({ account, event }: Notice): string => {
  const about = event.event === "message_received"
    ? event.from.external_id
    : event.event === "identity_changed"
    ? event.former_external_id
    : event.provider_message_id
  return JSON.stringify([account.type, account.id, about])
}

/** Service that stores the events of callbacks. */
export class Intake extends Context.Service<Intake, {
  /**
   * Stores every event of a callback that an app signed. If one cannot be stored,
   * it dies after the others are stored; repeating the callback is harmless.
   *
   * An event without a time gets `received_at`.
   */
  readonly receive: (app_id: string, body: Uint8Array, received_at: DateTime.Utc) => Effect.Effect<void>
}>()("@messaging-crm/provider-cloud/Intake") {
  static readonly layer = Layer.effect(
    Intake,
    Effect.gen(function*() {
      const accounts = yield* CloudAccounts
      const inbound = yield* Inbound
      const files = yield* Semaphore.make(files_max)
      const loader = yield* MediaLoader
      const turns = yield* RcMap.make({ lookup: (_lane: string) => Semaphore.make(1) })

      const eventOf = (account: CloudAccount, { event, file }: Notice): ProviderEvent => {
        const located: ProviderEvent = { ...event, channel_id: account.channel_id }
        return located.event !== "message_received" || located.media === null || file === null
          ? located
          : { ...located, media: { ...located.media, bytes: loader.load(account, file) } }
      }

      /** Stores an event without its file, if it has waited for it long enough. */
      const receiveFileless = Effect.fnUntraced(function*(event: ProviderEvent) {
        if (event.event !== "message_received" || event.media === null) return yield* new FileUnavailable()
        const now = yield* DateTime.now
        const isLate = DateTime.isGreaterThan(now, DateTime.addDuration(event.sent_at, file_wait_max))
        if (!isLate) return yield* new FileUnavailable()
        yield* inbound.receive({ ...event, media: { ...event.media, bytes: null } })
      })

      const receiveLocated = (account: CloudAccount, notice: Notice) => {
        const event = eventOf(account, notice)
        return inbound.receive(event).pipe(
          Effect.catchTag("FileUnavailable", () => receiveFileless(event)),
          // Repeating an event for an unknown channel would not help, so it counts as received.
          Effect.catchTag("ChannelUnknown", () => countIgnored("unconnected"))
        )
      }

      const receiveNotice = Effect.fnUntraced(function*(app_id: string, notice: Notice) {
        const found = yield* accounts.locate(app_id, notice.account)
        if (Option.isNone(found)) return yield* countIgnored("unconnected")
        const received = receiveLocated(found.value, notice)
        yield* notice.file === null ? received : files.withPermit(received)
      })

      /** Processes the notices of one lane, after those that began before. */
      const receiveLane = (app_id: string, lane: string, notices: ReadonlyArray<Notice>) =>
        RcMap.get(turns, lane).pipe(
          Effect.flatMap((turn) =>
            turn.withPermit(Effect.forEach(notices, (notice) => Effect.exit(receiveNotice(app_id, notice))))
          ),
          Effect.scoped
        )

      const receive = Effect.fn("Intake.receive")(
        function*(app_id: string, body: Uint8Array, received_at: DateTime.Utc) {
          const { ignored, notices } = Option.getOrElse(read(utf8.decode(body), received_at), () => unreadable)
          yield* Effect.forEach(ignored, countIgnored, { discard: true })
          const taken = yield* Effect.forEach(
            Map.groupBy(notices, laneOf),
            ([lane, told]) => receiveLane(app_id, lane, told),
            { concurrency: lanes_max }
          )
          yield* Effect.orDie(Exit.asVoidAll(taken.flat()))
        }
      )

      return Intake.of({ receive })
    })
  )

  /** Layer that processes the callback inbox in the background. */
  static readonly layerLoop = Layer.effectDiscard(Effect.gen(function*() {
    const inbox = yield* CallbackInbox
    const { receive } = yield* Intake
    yield* Effect.forkScoped(inbox.run(({ body, received_at, source }) => receive(source, body, received_at)))
  })).pipe(Layer.provide(Intake.layer))
}
