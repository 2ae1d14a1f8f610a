/** Each number of the telephone network that behaves in its own way, from the request to what its person holds. */
import { assert, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { eventually } from "../../testing/Eventually.ts"
import * as Api from "../../testing/processes/Api.ts"
import * as Cluster from "../../testing/processes/Cluster.ts"
import * as Network from "../../testing/processes/Network.ts"
import { program } from "../../testing/processes/Programs.ts"
import * as Servers from "../../testing/processes/Servers.ts"
import { unknownOutcomeTimeout } from "../../testing/programs/shortTimeouts.ts"

const dataOf = <A, I>(data: Schema.Codec<A, I>, { text }: Api.Response) =>
  Schema.decodeUnknownEffect(Schema.fromJsonString(Schema.Struct({ data })))(text).pipe(
    Effect.mapBoth({ onFailure: () => new Error(text), onSuccess: (response) => response.data })
  )

const Send = Schema.Struct({
  id: Schema.String,
  conversation_id: Schema.String,
  status: Schema.String,
  message_id: Schema.NullOr(Schema.String),
  failure_reason: Schema.NullOr(Schema.String)
})

const Message = Schema.Struct({
  id: Schema.String,
  direction: Schema.String,
  type: Schema.String,
  status: Schema.String,
  text: Schema.NullOr(Schema.String),
  media: Schema.NullOr(Schema.Struct({ mime_type: Schema.String, byte_size: Schema.Int, url: Schema.String })),
  delivered_at: Schema.NullOr(Schema.String),
  read_at: Schema.NullOr(Schema.String),
  failed_at: Schema.NullOr(Schema.String)
})
type Message = typeof Message.Type

interface Outcome {
  readonly send: string
  readonly reports: ReadonlyArray<string>
  readonly reply: string | null
  readonly taken: number
}

/** The final outcome of a start with each test number. The network does not know the text of a template, which `0007` echoes. */
const numbers: Readonly<Record<string, Outcome>> = {
  "0001": { send: "sent", reports: ["delivered"], reply: null, taken: 1 },
  "0002": { send: "recipient_unreachable", reports: [], reply: null, taken: 0 },
  "0003": { send: "sent", reports: ["failed"], reply: null, taken: 1 },
  "0004": { send: "sent", reports: ["delivered", "read"], reply: null, taken: 1 },
  "0005": { send: "sent", reports: ["delivered", "read"], reply: null, taken: 1 },
  "0006": { send: "outcome_unknown", reports: [], reply: null, taken: 0 },
  "0007": { send: "sent", reports: ["delivered", "read"], reply: "text: echo: ", taken: 1 },
  "0008": { send: "sent", reports: ["delivered", "read"], reply: "image: null", taken: 1 },
  "0009": { send: "sent", reports: ["delivered", "read"], reply: null, taken: 1 },
  "5678": { send: "sent", reports: ["delivered", "read"], reply: null, taken: 1 }
}

const reportsOf = (message: Message | undefined) =>
  (["delivered", "read", "failed"] as const).filter((status) => (message?.[`${status}_at`] ?? null) !== null)

const service = Effect.gen(function*() {
  const { acme, environment, accepted_url, servers: [server] } = yield* Cluster.make({
    servers: 1,
    environment: { RATE_LIMIT_PER_MINUTE: "100000", ...unknownOutcomeTimeout(5) }
  })
  if (server === undefined) return yield* Effect.die("no server")
  yield* Servers.serve(environment, server, program("server"))
  const { channel_id, key } = acme
  const get = <A, I>(path: string, data: Schema.Codec<A, I>) =>
    Api.request(server, "GET", path, { key }).pipe(Effect.flatMap((response) => dataOf(data, response)))
  const start = (phone: string) =>
    Api.request(server, "POST", "/conversations", {
      key,
      json: Api.newConversation(channel_id, phone, "Kim"),
      idempotency_key: `start-${phone}`
    }).pipe(Effect.flatMap((response) => dataOf(Send, response)))

  /** Returns a number's send and messages as soon as they are as expected. */
  const story = Effect.fnUntraced(function*(phone: string, expected: Outcome) {
    const { conversation_id, id } = yield* start(phone)
    const look = Effect.gen(function*() {
      const send = yield* get(`/sends/${id}`, Send)
      const messages = yield* get(`/conversations/${conversation_id}/messages`, Schema.Array(Message))
      const sent = messages.find((message) => message.id === send.message_id)
      const reply = messages.find(({ direction }) => direction === "inbound")
      const digits = phone.slice(1)
      const taken = (yield* Network.accepted(accepted_url)).filter(({ recipient }) => recipient === digits).length
      const seen = {
        send: send.failure_reason ?? send.status,
        reports: reportsOf(sent),
        reply: reply === undefined ? null : `${reply.type}: ${reply.text}`,
        taken
      }
      return { conversation_id, messages, seen, sent, reply }
    })
    const isAsExpected = ({ seen }: Effect.Success<typeof look>) => JSON.stringify(seen) === JSON.stringify(expected)
    return yield* eventually(look, isAsExpected)
  })
  const send = (conversation_id: string, text: string) =>
    Api.request(server, "POST", `/conversations/${conversation_id}/messages`, {
      key,
      json: { type: "text", text },
      idempotency_key: `send-${conversation_id}`
    })
  return { get, accepted_url, send, server, story }
})

it.live(
  "every number behaves as documented, and no message is accepted twice",
  () =>
    Effect.gen(function*() {
      const { get, accepted_url, send, server, story } = yield* service
      const stories = yield* Effect.forEach(
        Object.entries(numbers),
        ([digits, expected]) => Effect.map(story(`+491511234${digits}`, expected), (told) => ({ digits, told })),
        { concurrency: "unbounded" }
      )
      const seen = Object.fromEntries(stories.map(({ digits, told }) => [digits, told.seen]))
      assert.deepStrictEqual(seen, numbers)
      const of = (digits: string) => stories.find((one) => one.digits === digits)?.told

      // What was delivered but not read stays so, and a message that was rejected or lost does not exist.
      assert.strictEqual(of("0001")?.sent?.status, "delivered")
      assert.strictEqual(of("0003")?.sent?.status, "failed")
      assert.strictEqual(of("0004")?.sent?.status, "read")
      for (const digits of ["0002", "0006"]) assert.deepStrictEqual(of(digits)?.messages, [])

      // The image of 0008 is there to be read.
      const media = of("0008")?.reply?.media
      const image = yield* Effect.promise(async () => fetch(media?.url ?? server.url))
      const bytes = yield* Effect.promise(() => image.arrayBuffer())
      assert.strictEqual(image.status, 200)
      assert.strictEqual(image.headers.get("content-type"), media?.mime_type)
      assert.strictEqual(bytes.byteLength, media?.byte_size)

      // A number that replied has an open window: 0007 echoes each text.
      const conversation_id = of("0007")?.conversation_id ?? ""
      assert.strictEqual((yield* send(conversation_id, "Thank you")).status, 202)
      const texts = Effect.map(
        get(`/conversations/${conversation_id}/messages`, Schema.Array(Message)),
        (messages) => messages.map(({ text }) => text)
      )
      yield* eventually(texts, (all) => all.includes("echo: Thank you"))

      const references = (yield* Network.accepted(accepted_url)).map(({ reference }) => reference)
      assert.strictEqual(references.length, 9)
      assert.strictEqual(new Set(references).size, 9)
    }).pipe(Effect.scoped)
)
