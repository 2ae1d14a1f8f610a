/** The control routes of a fake Graph API that runs in its own process. */
import { Clock, Effect, Layer, Random, Schema } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { Behavior } from "./Behaviors.ts"
import { messageEntry, messengerEntry } from "./CallbackBodies.ts"
import { FakeGraph } from "./FakeGraph.ts"

const Script = Schema.Union([
  Schema.Struct({ recipient: Schema.String, behavior: Behavior }),
  Schema.Struct({ next_calls: Schema.Int, behavior: Behavior })
])

/** A message of a person to a number, a page, or an Instagram account, which are given by their IDs on the network. */
const Written = Schema.Struct({
  object: Schema.Literals(["whatsapp_business_account", "page", "instagram"]),
  account: Schema.String,
  from: Schema.String,
  text: Schema.String
})

const done = HttpServerResponse.empty({ status: 204 })
const malformed = () => Effect.succeed(HttpServerResponse.text("The command is malformed.", { status: 400 }))

/** Responds to a command that has no result. */
const command = <A, I, R>(schema: Schema.Codec<A, I>, run: (body: A) => Effect.Effect<void, never, R>) =>
  HttpServerRequest.schemaBodyJson(schema).pipe(
    Effect.flatMap(run),
    Effect.as(done),
    Effect.catchTag("SchemaError", malformed)
  )

/** Layer for `GET /fake/accepted`, `POST /fake/script` and `POST /fake/write`. */
export const layer = HttpRouter.use(Effect.fnUntraced(function*(router) {
  const fake = yield* FakeGraph

  const script = command(Script, (given) =>
    "recipient" in given
      ? fake.script(given.recipient, given.behavior)
      : fake.scriptNext(...Array.from({ length: given.next_calls }, () => given.behavior)))

  const write = command(
    Written,
    Effect.fnUntraced(function*({ account, from, object, text }) {
      const timestamp = yield* Clock.currentTimeMillis
      const id = `${object}.${timestamp}.${yield* Random.nextInt}`
      if (object !== "whatsapp_business_account") {
        const event = { message: { mid: id, text } }
        return yield* fake.enqueue(messengerEntry(object, { account, person: from, timestamp, event }))
      }
      const message = { id, timestamp: String(Math.floor(timestamp / 1000)), type: "text", text: { body: text } }
      yield* fake.enqueue(messageEntry(account, { wa_id: from, name: "Echo" }, message))
    })
  )

  const accepted = Effect.map(fake.accepted, (accepted) => HttpServerResponse.jsonUnsafe({ accepted }))

  yield* router.add("GET", "/fake/accepted", accepted)
  yield* router.add("POST", "/fake/script", script)
  yield* router.add("POST", "/fake/write", write)
}))

/** The maximum number of entries of one body, and how many bodies of five are posted twice. */
const batch_max = 10
const repeated_in_five = 1

/** Layer that posts callbacks continuously: in batches, some of them twice, retried until the response is 200. */
export const layerCallbacks = Layer.effectDiscard(Effect.gen(function*() {
  const fake = yield* FakeGraph
  const turn = Effect.gen(function*() {
    const batch = yield* Random.nextIntBetween(1, batch_max)
    const times = (yield* Random.nextIntBetween(1, 5)) <= repeated_in_five ? 2 : 1
    yield* fake.post({ batch, times })
    yield* Effect.sleep("50 millis")
  })
  yield* Effect.forkScoped(Effect.forever(turn))
}))
