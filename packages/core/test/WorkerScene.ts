/** A worker over the memory store, and organizations with messages and webhooks. */
import * as Memory from "@messaging-crm/adapter-memory"
import * as Fixtures from "@messaging-crm/conformance/Fixtures"
import * as Provider from "@messaging-crm/conformance/Provider"
import { CurrentActor } from "@messaging-crm/core/Actor"
import { CloseConversation, Conversations } from "@messaging-crm/core/Conversations"
import type { ConversationId, SendId } from "@messaging-crm/core/Ids"
import { Phone } from "@messaging-crm/core/Phones"
import { SecretCanary } from "@messaging-crm/core/SecretCanary"
import { Sends, StartConversation } from "@messaging-crm/core/Sends"
import { CreateWebhook, Webhooks } from "@messaging-crm/core/Webhooks"
import { Worker } from "@messaging-crm/core/Worker"
import { type Duration, Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"

export const world = Provider.crm(Memory.layer)

/** Lets time pass, and then the event loop continue: signatures and decryption take real time, in which the test's clock stands still. */
export const pass = (duration: Duration.Input) =>
  Effect.andThen(TestClock.adjust(duration), Effect.promise(() => new Promise((resume) => setImmediate(resume))))

/** Lets the event loop continue until a condition holds, while the test's clock stands still. */
export const passUntil = <E, R>(condition: Effect.Effect<boolean, E, R>) =>
  Effect.repeat(Effect.andThen(pass("0 millis"), condition), { until: (isReached) => isReached })

/** Creates an organization with a channel, and returns the functions that send as it. */
export const queued = Effect.gen(function*() {
  const organization_id = yield* Fixtures.organization
  const channel = yield* Fixtures.channel(organization_id)
  // Decryption takes real time, in which the test's clock stands still.
  yield* SecretCanary.use(({ isReadable }) => isReadable)
  /** Runs an operation as the organization. A failure is a defect. */
  const as = <A, E, R>(effect: Effect.Effect<A, E, R | CurrentActor>) =>
    effect.pipe(Effect.provideService(CurrentActor, { organization_id, member_id: null }), Effect.orDie)
  const start = (phone: string) =>
    as(Sends.use((sends) =>
      sends.start(StartConversation.make({
        channel_id: channel.id,
        phone: Phone.make(phone),
        template: { id: "greeting", components: [{ type: "body", parameters: [{ type: "text", text: "Kim" }] }] }
      }))
    ))
  const get = (id: SendId) => as(Sends.use((sends) => sends.get(id)))
  return { as, get, start }
})

type Scene = Effect.Success<typeof queued>

export const subscribe = ({ as }: Scene, url: string, fields: Partial<CreateWebhook> = {}) =>
  as(
    Webhooks.use((webhooks) =>
      webhooks.create(CreateWebhook.make({ url, event_types: ["conversation.closed"], ...fields }))
    )
  )

/** Starts conversations with different people. */
export const startMany = ({ start }: Scene, count: number) =>
  Effect.forEach(Array.from({ length: count }, (_, index) => `+491512${100_000 + index}`), start)

export const close = ({ as }: Scene, id: ConversationId) =>
  as(Conversations.use((conversations) => conversations.close(id, CloseConversation.make({}))))

/** Starts and closes conversations, each of which raises an event. */
export const raise = (scene: Scene, events: number) =>
  Effect.flatMap(
    startMany(scene, events),
    Effect.forEach(({ conversation_id }) => close(scene, conversation_id), { discard: true })
  )

/**
 * The worker, which is stopped at the end of the test. It waits for its items in progress by the test's clock, so without this
 * a test that fails would not end.
 */
export const background = Effect.acquireRelease(
  Effect.forkDetach(Worker.use((worker) => worker.run)),
  Effect.fnUntraced(function*(fiber) {
    const stopping = yield* Effect.forkDetach(Fiber.interrupt(fiber))
    yield* TestClock.adjust("31 seconds")
    yield* Fiber.join(stopping)
  })
)
