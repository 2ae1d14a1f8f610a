/**
 * Intake: carries what callbacks tell to core, with the files of the messages.
 *
 * Each notice is taken in on its own. One that cannot be taken in now takes no
 * other with it, and may be told again.
 */
import { CallbackInbox } from "@messaging-crm/core/CallbackInbox"
import { Inbound, type ProviderEvent } from "@messaging-crm/core/Inbound"
import { Context, DateTime, Duration, Effect, Exit, Layer, Metric, Option, RcMap, Semaphore } from "effect"
import { type Notice, type Notices, read } from "./Callback.ts"
import { type CloudAccount, CloudAccounts } from "./CloudAccounts.ts"
import { MediaLoader } from "./MediaLoader.ts"
import { callbacks_ignored } from "./Metrics.ts"

/** For how long a message waits for its file. After that it is taken in without. */
const file_wait_max = Duration.hours(1)

/** How many files are in memory at once, whoever they are from. */
const files_max = 4

/** How many people's messages are taken in at once. */
const lanes_max = 8

const utf8 = new TextDecoder("utf-8", { ignoreBOM: true })

/** What a body tells that is no callback. */
const unreadable: Notices = { notices: [], ignored: ["unreadable"] }

const countIgnored = (reason: string) => Metric.update(Metric.withAttributes(callbacks_ignored, { reason }), 1)

/** Whose turn comes one after the other: what a person wrote keeps its order. */
const laneOf = ({ account, event }: Notice): string => {
  const about = event.event === "message_received"
    ? event.from.external_id
    : event.event === "identity_changed"
    ? event.former_external_id
    : event.provider_message_id
  return JSON.stringify([account.type, account.id, about])
}

/** Carries what callbacks tell to core. */
export class Intake extends Context.Service<Intake, {
  /**
   * Takes in everything that a callback of an app tells. It dies where something
   * could not be taken in, after everything else was: taking it in again is harmless.
   *
   * What bears no time of its own counts as of `received_at`.
   */
  readonly take: (app_id: string, body: Uint8Array, received_at: DateTime.Utc) => Effect.Effect<void>
}>()("@messaging-crm/provider-cloud/Intake") {
  static readonly layer = Layer.effect(
    Intake,
    Effect.gen(function*() {
      const accounts = yield* CloudAccounts
      const inbound = yield* Inbound
      const files = yield* Semaphore.make(files_max)
      const loader = yield* MediaLoader
      const turns = yield* RcMap.make({ lookup: (_lane: string) => Semaphore.make(1) })

      /** Returns a file; none once its message has waited long enough for it. */
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

      const takeLocated = Effect.fnUntraced(function*(account: CloudAccount, notice: Notice) {
        const event = yield* eventOf(account, notice)
        // A channel that no longer exists stays unknown however often the event is repeated.
        yield* Effect.catchTag(inbound.receive(event), "ChannelUnknown", () => countIgnored("unconnected"))
      })

      const takeOne = Effect.fnUntraced(function*(app_id: string, notice: Notice) {
        const found = yield* accounts.locate(app_id, notice.account)
        if (Option.isNone(found)) return yield* countIgnored("unconnected")
        const taken = takeLocated(found.value, notice)
        yield* notice.file === null ? taken : files.withPermit(taken)
      })

      /** Takes in what is of one lane, after what came before it. */
      const takeLane = (app_id: string, lane: string, notices: ReadonlyArray<Notice>) =>
        RcMap.get(turns, lane).pipe(
          Effect.flatMap((turn) =>
            turn.withPermit(Effect.forEach(notices, (notice) => Effect.exit(takeOne(app_id, notice))))
          ),
          Effect.scoped
        )

      const take = Effect.fn("Intake.take")(function*(app_id: string, body: Uint8Array, received_at: DateTime.Utc) {
        const { ignored, notices } = Option.getOrElse(read(utf8.decode(body), received_at), () => unreadable)
        yield* Effect.forEach(ignored, countIgnored, { discard: true })
        const taken = yield* Effect.forEach(
          Map.groupBy(notices, laneOf),
          ([lane, told]) => takeLane(app_id, lane, told),
          { concurrency: lanes_max }
        )
        yield* Effect.orDie(Exit.asVoidAll(taken.flat()))
      })

      return Intake.of({ take })
    })
  )

  /** Layer that takes in what is in the callback inbox, for as long as it is held. */
  static readonly layerLoop = Layer.effectDiscard(Effect.gen(function*() {
    const inbox = yield* CallbackInbox
    const { take } = yield* Intake
    yield* Effect.forkScoped(inbox.run(({ body, received_at, source }) => take(source, body, received_at)))
  })).pipe(Layer.provide(Intake.layer))
}
