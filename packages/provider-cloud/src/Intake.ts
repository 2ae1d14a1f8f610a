/**
 * Intake: passes the events of callbacks to core, and loads the files of messages.
 *
 * Each notice is processed independently. If one fails, the others are stored all
 * the same, and the network repeats the callback.
 */
import { Inbound, type ProviderEvent } from "@messaging-crm/core/Inbound"
import { Context, DateTime, Duration, Effect, Exit, Layer, Metric, Option, Semaphore } from "effect"
import { type Notice, read } from "./Callback.ts"
import { type CloudAccount, CloudAccounts } from "./CloudAccounts.ts"
import { MediaLoader } from "./MediaLoader.ts"
import { callbacks_ignored } from "./Metrics.ts"

/** How long a message may wait for its file. After that it is stored without it. */
const file_wait_max = Duration.hours(1)

/** The maximum number of files in memory at once. */
const files_max = 4

/** The maximum number of people whose notices are processed concurrently. */
const lanes_max = 8

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
   * Returns false where the body is not a callback.
   */
  readonly receive: (app_id: string, body: string) => Effect.Effect<boolean>
}>()("@messaging-crm/provider-cloud/Intake") {
  static readonly layer = Layer.effect(
    Intake,
    Effect.gen(function*() {
      const accounts = yield* CloudAccounts
      const inbound = yield* Inbound
      const files = yield* Semaphore.make(files_max)
      const loader = yield* MediaLoader

      /** Loads a file. None where it does not exist, or is unavailable and the message has waited long enough. */
      const load = Effect.fnUntraced(function*(account: CloudAccount, { event, file }: Notice) {
        if (file === null || event.event !== "message_received") return Option.none()
        const now = yield* DateTime.now
        const isLate = DateTime.isGreaterThan(now, DateTime.addDuration(event.sent_at, file_wait_max))
        const loaded = loader.load(account, file)
        return yield* isLate ? Effect.orElseSucceed(loaded, () => Option.none()) : loaded
      })

      const eventOf = Effect.fnUntraced(function*(account: CloudAccount, notice: Notice) {
        const event: ProviderEvent = { ...notice.event, channel_id: account.channel_id }
        if (event.event !== "message_received" || event.media === null) return event
        const bytes = Option.getOrNull(yield* load(account, notice))
        return { ...event, media: { ...event.media, bytes } }
      })

      const receiveLocated = Effect.fnUntraced(function*(account: CloudAccount, notice: Notice) {
        const event = yield* eventOf(account, notice)
        // Repeating an event for an unknown channel would not help, so it counts as received.
        yield* Effect.catchTag(inbound.receive(event), "ChannelUnknown", () => countIgnored("unconnected"))
      })

      const receiveNotice = Effect.fnUntraced(function*(app_id: string, notice: Notice) {
        const found = yield* accounts.locate(app_id, notice.account)
        if (Option.isNone(found)) return yield* countIgnored("unconnected")
        const received = receiveLocated(found.value, notice)
        yield* notice.file === null ? received : files.withPermit(received)
      })

      const receive = Effect.fn("Intake.receive")(function*(app_id: string, body: string) {
        const callback = read(body, yield* DateTime.now)
        if (Option.isNone(callback)) return false
        yield* Effect.forEach(callback.value.ignored, countIgnored, { discard: true })
        const lanes = Map.groupBy(callback.value.notices, laneOf)
        const outcomes = yield* Effect.forEach(
          lanes.values(),
          Effect.forEach((notice) => Effect.exit(receiveNotice(app_id, notice))),
          { concurrency: lanes_max }
        )
        yield* Effect.orDie(Exit.asVoidAll(outcomes.flat()))
        return true
      })

      return Intake.of({ receive })
    })
  )
}
