/** How the fake network takes messages, and what it then has to tell of them. */
import { NodeHttpServerRequest } from "@effect/platform-node"
import { DateTime, Effect, Ref, Schema } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { type Answer, type Behaviour, behaviourOf } from "./Behaviours.ts"
import { messagePart, type Part, socialPart, statusPart } from "./Bodies.ts"
import { add } from "./Files.ts"
import { type Memory, nextId, refusal, refuse, set, type State, type TakenMessage, tell } from "./State.ts"

const Outbound = Schema.Struct({
  messaging_product: Schema.optionalKey(Schema.String),
  to: Schema.optionalKey(Schema.String),
  recipient: Schema.optionalKey(Schema.Union([Schema.String, Schema.Struct({ id: Schema.String })])),
  text: Schema.optionalKey(Schema.Struct({ body: Schema.String })),
  message: Schema.optionalKey(Schema.Struct({ text: Schema.String, metadata: Schema.optionalKey(Schema.String) })),
  biz_opaque_callback_data: Schema.optionalKey(Schema.String)
})

/** Drops the connection, as a network does whose answer is lost on the way. */
const hangUp = Effect.flatMap(HttpServerRequest.HttpServerRequest, (request) => {
  NodeHttpServerRequest.toIncomingMessage(request).socket.destroy()
  return Effect.never
})

/** Returns a number as the network has it: it knows those of Brazil and Mexico by their short spelling. */
export const canonical = (digits: string): string =>
  digits.replace(/^(55[1-9][1-9])9([6-9][0-9]{7})$/, "$1$2").replace(/^(52)1([1-9][0-9]{9})$/, "$1$2")

const isUserId = (id: string) => /^[A-Z]{2}\./.test(id)

/** A message that is asked to be taken. */
interface Asked extends Omit<TakenMessage, "id"> {
  readonly isPhone: boolean
  /** Whether it is addressed to a user id as if that were a number. */
  readonly isMisaddressed: boolean
}

const decode = Schema.decodeUnknownEffect(Outbound)

const askedOf = Effect.fnUntraced(function*(account: string, body: unknown) {
  const { biz_opaque_callback_data, message, messaging_product, recipient: named, text, to } = yield* decode(body)
  const recipient = to ?? (typeof named === "object" ? named.id : named ?? "")
  const asked: Asked = {
    account,
    recipient,
    reference: biz_opaque_callback_data ?? message?.metadata ?? null,
    text: text?.body ?? message?.text ?? null,
    body,
    isPhone: messaging_product === "whatsapp",
    isMisaddressed: to !== undefined && isUserId(to)
  }
  return asked
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
  { account, id, recipient, reference, text }: TakenMessage,
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

/** A page is told of its own message, with what it added to it. In that the account is the sender. */
const pageReports = (
  { account, id, recipient, reference, text }: TakenMessage,
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

const take = Effect.fnUntraced(function*(state: State, asked: Asked, behaviour: Behaviour) {
  const { isMisaddressed, isPhone, ...fields } = asked
  const message: TakenMessage = { id: yield* nextId(state, isPhone ? "wamid.FAKE" : "m_FAKE"), ...fields }
  if (isMisaddressed) {
    yield* set(state, ({ swallowed }) => ({ swallowed: [...swallowed, message] }))
    return message.id
  }
  yield* set(state, ({ taken }) => ({ taken: [...taken, message] }))
  const millis = (yield* DateTime.now).epochMilliseconds
  const parts = isPhone
    ? yield* phoneReports(state, message, behaviour, Math.floor(millis / 1000))
    : pageReports(message, millis)
  yield* tell(state, ...parts)
  return message.id
})

const contactOf = (recipient: string) =>
  isUserId(recipient)
    ? { input: recipient, user_id: recipient }
    : { input: recipient, wa_id: canonical(recipient), user_id: `XX.${canonical(recipient)}` }

const takenAnswer = ({ isPhone, recipient }: Asked, id: string) =>
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
    const asked = yield* askedOf(account, yield* HttpServerRequest.schemaBodyJson(Schema.Unknown))
    const [behaviour, answer] = yield* choose(state, asked.recipient)
    switch (answer.answer) {
      case "take":
        return takenAnswer(asked, yield* take(state, asked, behaviour))
      case "take_and_hang_up":
        yield* take(state, asked, behaviour)
        return yield* hangUp
      case "hang_up":
        return yield* hangUp
      case "page":
        return HttpServerResponse.text("<h1>Something is wrong</h1>", { status: answer.status })
      case "refuse":
        return refusal(answer)
    }
  }).pipe(Effect.catchTag("SchemaError", () => Effect.succeed(refuse(100))))
