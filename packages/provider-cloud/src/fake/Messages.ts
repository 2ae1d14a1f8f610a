/** How the fake Graph API accepts messages, and the callbacks that follow. */
import { DateTime, Effect, Ref, Schema } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { type Behavior, behaviorOf, type ScriptedResponse } from "./Behaviors.ts"
import { type CallbackEntry, messageEntry, messengerEntry, statusEntry } from "./CallbackBodies.ts"
import { add } from "./Files.ts"
import { inputOf, isUserId, readRequest, type SendRequest } from "./Requests.ts"
import {
  type AcceptedMessage,
  enqueue,
  errorResponse,
  nextId,
  now,
  reject,
  set,
  type State,
  type StateRef
} from "./State.ts"

/** Drops the connection, so that the response is lost. */
const hangUp = Effect.flatMap(HttpServerRequest.HttpServerRequest, (request) => {
  // The server is Node's, so the source of a request is its message.
  ;(request.source as { readonly socket: { readonly destroy: () => void } }).socket.destroy()
  return Effect.never
})

/** Returns a number as the network spells it: numbers of Brazil and Mexico have a short spelling. */
export const canonical = (digits: string): string =>
  digits.replace(/^(55[1-9][1-9])9([6-9][0-9]{7})$/, "$1$2").replace(/^(52)1([1-9][0-9]{9})$/, "$1$2")

/** Returns the behavior of a message, and its response to this call. Calls are counted per message; without a reference, per recipient. */
const nextBehavior = (state: StateRef, { recipient, reference }: SendRequest) =>
  Ref.modify(state, (current): readonly [readonly [Behavior, ScriptedResponse], State] => {
    const [scripted, ...next] = current.next
    const behavior = scripted ?? current.scripts.get(recipient) ?? behaviorOf(recipient)
    const key = reference ?? recipient
    const call = current.calls.get(key) ?? 0
    const response = behavior.responses[call] ?? behavior.responses.at(-1) ?? behavior.responses[0]
    return [[behavior, response], { ...current, next, calls: new Map(current.calls).set(key, call + 1) }]
  })

const whatsAppEntries = Effect.fnUntraced(function*(
  state: StateRef,
  { account, id, recipient, reference, text }: AcceptedMessage,
  { reply, statuses }: Behavior,
  seconds: number
) {
  const recipient_id = canonical(recipient)
  const reports = statuses.map((status, index) =>
    statusEntry(account, { id, status, timestamp: seconds + index, recipient_id, reference })
  )
  if (reply === null) return reports
  const media_id = yield* add(state, new Uint8Array([137, 80, 78, 71]), "image/png")
  const content = reply === "text"
    ? { type: "text", text: { body: `echo: ${text ?? ""}` } }
    : { type: "image", image: { id: media_id, mime_type: "image/png", sha256: "made up" } }
  const message = { id: `${id}.reply`, timestamp: String(seconds + 1), ...content }
  return [...reports, messageEntry(account, { wa_id: recipient_id, name: "Echo" }, message)]
})

/** A page gets a callback for its own message too, with the account as the sender and the metadata of the request. */
const messengerEntries = (
  { account, id, recipient, reference, text }: AcceptedMessage,
  millis: number
): ReadonlyArray<CallbackEntry> => {
  if (reference === null) return []
  const message = { mid: id, text: text ?? "", is_echo: true, metadata: reference }
  const delivery = { mids: [id], watermark: millis }
  return [
    messengerEntry("page", { account: recipient, person: account, timestamp: millis, event: { message } }),
    messengerEntry("page", { account, person: recipient, timestamp: millis + 1, event: { delivery } })
  ]
}

const accept = Effect.fnUntraced(function*(state: StateRef, request: SendRequest, behavior: Behavior) {
  const { is_misaddressed, is_whatsapp, ...fields } = request
  const message: AcceptedMessage = { id: yield* nextId(state, is_whatsapp ? "wamid.FAKE" : "m_FAKE"), ...fields }
  if (is_misaddressed) {
    yield* set(state, ({ discarded }) => ({ discarded: [...discarded, message] }))
    return message.id
  }
  yield* set(state, ({ accepted }) => ({ accepted: [...accepted, message] }))
  const millis = (yield* now(state)).epochMilliseconds
  const entries = is_whatsapp
    ? yield* whatsAppEntries(state, message, behavior, Math.floor(millis / 1000))
    : messengerEntries(message, millis)
  yield* enqueue(state, ...entries)
  return message.id
})

const contactOf = (recipient: string, input: string) =>
  isUserId(recipient)
    ? { input, user_id: recipient }
    : { input, wa_id: canonical(recipient), user_id: `XX.${canonical(recipient)}` }

/** Responds that a message was accepted, and when. */
const acceptedResponse = Effect.fnUntraced(function*(state: StateRef, request: SendRequest, id: string) {
  const { is_whatsapp, recipient } = request
  const date = DateTime.toDateUtc(yield* now(state)).toUTCString()
  return HttpServerResponse.jsonUnsafe(
    is_whatsapp
      ? {
        messaging_product: "whatsapp",
        contacts: [contactOf(recipient, inputOf(request))],
        messages: [{ id, message_status: "accepted" }]
      }
      : { recipient_id: recipient, message_id: id },
    { headers: { date } }
  )
})

/** Responds to a request to send as the script, or else the number, determines. */
const send = Effect.fnUntraced(function*(state: StateRef, request: SendRequest) {
  const [behavior, response] = yield* nextBehavior(state, request)
  switch (response.response) {
    case "accept":
      return yield* acceptedResponse(state, request, yield* accept(state, request, behavior))
    case "accept_and_hang_up":
      yield* accept(state, request, behavior)
      return yield* hangUp
    case "hang_up":
      return yield* hangUp
    case "error_page":
      return HttpServerResponse.text("<h1>Something is wrong</h1>", { status: response.status })
    case "reject":
      return errorResponse(response)
  }
})

/** Responds to `POST /{version}/{id}/messages`. A read receipt and a typing indicator are not messages. */
export const route = (state: StateRef) =>
  Effect.gen(function*() {
    const { id: account = "" } = yield* HttpRouter.params
    const requested = yield* readRequest(state, account, yield* HttpServerRequest.schemaBodyJson(Schema.Unknown))
    switch (requested.kind) {
      case "read":
        return HttpServerResponse.jsonUnsafe({ success: true })
      case "action":
        return HttpServerResponse.jsonUnsafe({ recipient_id: requested.recipient })
      case "send":
        return yield* send(state, requested.request)
    }
  }).pipe(Effect.catchTags({
    Fault: ({ code, details, status }) => Effect.succeed(reject(code, status, details)),
    SchemaError: () => Effect.succeed(reject(100, 400, "The body is not JSON.")),
    HttpServerError: () => Effect.succeed(reject(100, 400, "The body is not JSON."))
  }))
