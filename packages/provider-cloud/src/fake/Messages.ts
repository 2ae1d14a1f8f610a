/** How the fake network accepts messages, and the callbacks that follow. */
import { NodeHttpServerRequest } from "@effect/platform-node"
import { DateTime, Effect, Ref, Schema } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { type Answer, type Behaviour, behaviourOf } from "./Behaviours.ts"
import { messagePart, type Part, socialPart, statusPart } from "./Bodies.ts"
import { add } from "./Files.ts"
import { type AcceptedMessage, enqueue, type Memory, nextId, refusal, refuse, set, type State } from "./State.ts"

const Outbound = Schema.Struct({
  messaging_product: Schema.optionalKey(Schema.String),
  to: Schema.optionalKey(Schema.String),
  recipient: Schema.optionalKey(Schema.Union([Schema.String, Schema.Struct({ id: Schema.String })])),
  text: Schema.optionalKey(Schema.Struct({ body: Schema.String })),
  message: Schema.optionalKey(Schema.Struct({ text: Schema.String, metadata: Schema.optionalKey(Schema.String) })),
  biz_opaque_callback_data: Schema.optionalKey(Schema.String)
})

/** Drops the connection, so that the answer is lost. */
const hangUp = Effect.flatMap(HttpServerRequest.HttpServerRequest, (request) => {
  NodeHttpServerRequest.toIncomingMessage(request).socket.destroy()
  return Effect.never
})

/** Returns a number as the network spells it: numbers of Brazil and Mexico have a short spelling. */
export const canonical = (digits: string): string =>
  digits.replace(/^(55[1-9][1-9])9([6-9][0-9]{7})$/, "$1$2").replace(/^(52)1([1-9][0-9]{9})$/, "$1$2")

const isUserId = (id: string) => /^[A-Z]{2}\./.test(id)

/** A request to send a message. */
interface SendRequest extends Omit<AcceptedMessage, "id"> {
  readonly isPhone: boolean
  /** Whether `to` contains a user ID in place of a number. */
  readonly isMisaddressed: boolean
}

const decode = Schema.decodeUnknownEffect(Outbound)

const sendRequestOf = Effect.fnUntraced(function*(account: string, body: unknown) {
  const { biz_opaque_callback_data, message, messaging_product, recipient: named, text, to } = yield* decode(body)
  const recipient = to ?? (typeof named === "object" ? named.id : named ?? "")
  const request: SendRequest = {
    account,
    recipient,
    reference: biz_opaque_callback_data ?? message?.metadata ?? null,
    text: text?.body ?? message?.text ?? null,
    body,
    isPhone: messaging_product === "whatsapp",
    isMisaddressed: to !== undefined && isUserId(to)
  }
  return request
})

const choose = (state: State, recipient: string) =>
  Ref.modify(state, (memory): readonly [readonly [Behaviour, Answer], Memory] => {
    const [scripted, ...next] = memory.next
    if (scripted !== undefined) return [[scripted, scripted.answers[0]], { ...memory, next }]
    const behaviour = memory.scripts.get(recipient) ?? behaviourOf(recipient)
    const call = memory.calls.get(recipient) ?? 0
    const answer = behaviour.answers[call] ?? behaviour.answers.at(-1) ?? behaviour.answers[0]
    return [[behaviour, answer], { ...memory, calls: new Map(memory.calls).set(recipient, call + 1) }]
  })

const phoneReports = Effect.fnUntraced(function*(
  state: State,
  { account, id, recipient, reference, text }: AcceptedMessage,
  { reply, statuses }: Behaviour,
  seconds: number
) {
  const recipient_id = canonical(recipient)
  const reports = statuses.map((status, index) =>
    statusPart(account, { id, status, timestamp: seconds + index, recipient_id, reference })
  )
  if (reply === null) return reports
  const media_id = yield* add(state, new Uint8Array([137, 80, 78, 71]), "image/png")
  const content = reply === "text"
    ? { type: "text", text: { body: `echo: ${text ?? ""}` } }
    : { type: "image", image: { id: media_id, mime_type: "image/png", sha256: "made up" } }
  const message = { id: `${id}.reply`, timestamp: String(seconds + 1), ...content }
  return [...reports, messagePart(account, { wa_id: recipient_id, name: "Echo" }, message)]
})

/** A page gets a callback for its own message too, with the account as the sender and the metadata of the request. */
const pageReports = (
  { account, id, recipient, reference, text }: AcceptedMessage,
  millis: number
): ReadonlyArray<Part> => {
  if (reference === null) return []
  const message = { mid: id, text: text ?? "", is_echo: true, metadata: reference }
  const delivery = { mids: [id], watermark: millis }
  return [
    socialPart("page", { account: recipient, person: account, timestamp: millis, item: { message } }),
    socialPart("page", { account, person: recipient, timestamp: millis + 1, item: { delivery } })
  ]
}

const accept = Effect.fnUntraced(function*(state: State, request: SendRequest, behaviour: Behaviour) {
  const { isMisaddressed, isPhone, ...fields } = request
  const message: AcceptedMessage = { id: yield* nextId(state, isPhone ? "wamid.FAKE" : "m_FAKE"), ...fields }
  if (isMisaddressed) {
    yield* set(state, ({ discarded }) => ({ discarded: [...discarded, message] }))
    return message.id
  }
  yield* set(state, ({ accepted }) => ({ accepted: [...accepted, message] }))
  const millis = (yield* DateTime.now).epochMilliseconds
  const parts = isPhone
    ? yield* phoneReports(state, message, behaviour, Math.floor(millis / 1000))
    : pageReports(message, millis)
  yield* enqueue(state, ...parts)
  return message.id
})

const contactOf = (recipient: string) =>
  isUserId(recipient)
    ? { input: recipient, user_id: recipient }
    : { input: recipient, wa_id: canonical(recipient), user_id: `XX.${canonical(recipient)}` }

const acceptedAnswer = ({ isPhone, recipient }: SendRequest, id: string) =>
  HttpServerResponse.jsonUnsafe(
    isPhone
      ? {
        messaging_product: "whatsapp",
        contacts: [contactOf(recipient)],
        messages: [{ id, message_status: "accepted" }]
      }
      : { recipient_id: recipient, message_id: id }
  )

/** Answers `POST /{version}/{id}/messages`. */
export const route = (state: State) =>
  Effect.gen(function*() {
    const { id: account = "" } = yield* HttpRouter.params
    const request = yield* sendRequestOf(account, yield* HttpServerRequest.schemaBodyJson(Schema.Unknown))
    // "The parameter text.body is required."
    if (request.text?.trim() === "") return refuse(100)
    const [behaviour, answer] = yield* choose(state, request.recipient)
    switch (answer.answer) {
      case "take":
        return acceptedAnswer(request, yield* accept(state, request, behaviour))
      case "take_and_hang_up":
        yield* accept(state, request, behaviour)
        return yield* hangUp
      case "hang_up":
        return yield* hangUp
      case "page":
        return HttpServerResponse.text("<h1>Something is wrong</h1>", { status: answer.status })
      case "refuse":
        return refusal(answer)
    }
  }).pipe(Effect.catchTag("SchemaError", () => Effect.succeed(refuse(100))))
