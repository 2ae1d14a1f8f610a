/** `webhooks listen`: follows the events of a service, prints them, and posts them to an endpoint, signed as webhooks are. */
import { type Event as ClientEvent, MessagingCrm, MessagingCrmError, type Retry } from "@messaging-crm/client"
import { type AnyEventType, Event, EventType } from "@messaging-crm/core/Events"
import { headersOf, newSecret } from "@messaging-crm/core/WebhookSignature"
import { DateTime, Effect, Option, Redacted, Schema } from "effect"
import { FetchHttpClient, HttpClient, HttpClientRequest } from "effect/http"
import { styleText } from "node:util"
import * as Admin from "./Admin.ts"
import * as Print from "./Print.ts"
import { oneLine } from "./Visible.ts"

export interface Options {
  readonly base_url: string
  readonly api_key: Redacted.Redacted
  readonly after: string
  /** The ID of the only event to post. */
  readonly event: Option.Option<string>
  readonly event_types: ReadonlyArray<EventType>
  readonly forward_to: Option.Option<string>
  readonly allow_remote: boolean
  readonly signing_secret: Option.Option<Redacted.Redacted>
  readonly json: boolean
}

const colors = {
  "message.received": "cyan",
  "message.sent": "green",
  "message.updated": "blue",
  "send.failed": "red",
  "conversation.closed": "magenta",
  "conversation.opened": "magenta",
  "conversation.assigned": "magenta",
  "contact.created": "yellow",
  "contact.updated": "yellow",
  "webhook.disabled": "red",
  "webhook.test": "gray"
} as const satisfies Record<AnyEventType, string>

const type_width = Math.max(...EventType.literals.map((type) => type.length))

/** Returns the line that shows an event, on one line whatever its values are. */
export const wordsOf = ({ data, timestamp, type }: Event): string =>
  [
    styleText("dim", DateTime.formatIso(timestamp)),
    styleText(colors[type], type.padEnd(type_width)),
    Object.entries(data).map(([name, value]) => `${styleText("dim", `${name}=`)}${oneLine(String(value))}`).join(" ")
  ].join("  ")

/** Returns the reason of a failed request, for the user. */
const reasonOf = (error: unknown, base_url: string): string => {
  if (!(error instanceof MessagingCrmError)) {
    return `The service at ${base_url} does not respond. Start it, or choose another --url.`
  }
  if (error.code === "not_found") {
    return "The service has no event with this ID. It keeps events for 30 days. Check the ID and the API key."
  }
  return error.param === "after"
    ? `The service rejected --after: ${error.message}`
    : `The service rejected the request: ${error.message}`
}

/** Makes one call of the client, which ends with the effect. */
const requesting = <A>(base_url: string, call: (signal: AbortSignal) => Promise<A>) =>
  Effect.tryPromise({ try: call, catch: (error) => new Admin.Rejected({ message: reasonOf(error, base_url) }) })

const local_hosts = /^(?:(?:.+\.)?localhost|127(?:\.\d{1,3}){3}|\[::1\])$/

/** Returns whether a URL names this machine. */
const isLocal = (url: string): boolean => local_hosts.test(new URL(url).hostname)

/** Posts an event to an endpoint. Returns its status; none without a response. */
export const forward = (url: string, headers: Readonly<Record<string, string>>, body: string) =>
  HttpClient.execute(
    HttpClientRequest.post(url).pipe(
      HttpClientRequest.bodyText(body, "application/json"),
      HttpClientRequest.setHeaders(headers)
    )
  ).pipe(
    Effect.timeout("15 seconds"),
    Effect.map(({ status }) => status),
    Effect.option,
    // As for every webhook, a redirect is a response.
    Effect.provideService(FetchHttpClient.RequestInit, { redirect: "manual" }),
    Effect.provide(FetchHttpClient.layer)
  )

const decode = Schema.decodeUnknownOption(Event)

const print = (event: ClientEvent, asJson: boolean) => {
  if (asJson) return Print.line(JSON.stringify(event))
  // A newer service can have further types of events.
  const known = decode(event)
  return Option.isNone(known) ? Print.line(oneLine(JSON.stringify(event))) : Print.styled(wordsOf(known.value))
}

/** Prints an event, and posts it. Returns whether the endpoint has accepted it. */
const deliver = Effect.fnUntraced(function*(
  event: ClientEvent,
  secret: Redacted.Redacted,
  { forward_to, json }: Pick<Options, "forward_to" | "json">
) {
  yield* print(event, json)
  if (Option.isNone(forward_to)) return true
  const body = JSON.stringify(event)
  const headers = yield* headersOf([secret], { id: event.id, timestamp: yield* DateTime.now, body })
  const status = yield* forward(forward_to.value, headers, body)
  const words = Option.match(status, {
    onNone: () => `${forward_to.value} does not respond.`,
    onSome: (code) => `The endpoint responded with ${code}.`
  })
  const isAccepted = Option.exists(status, (code) => code >= 200 && code < 300)
  yield* Print.note(isAccepted ? words : `${words} Post the event again with --event ${event.id}.`)
  return isAccepted
})

/** Posts one stored event. */
const replay = Effect.fnUntraced(function*(id: string, crm: MessagingCrm, secret: Redacted.Redacted, options: Options) {
  const found = yield* requesting(options.base_url, (signal) => crm.events.get(id, { signal }))
  if (!(yield* deliver(found, secret, options))) {
    return yield* new Admin.Rejected({ message: "The endpoint did not accept the event." })
  }
})

/** Follows events from a cursor until it is interrupted, and then prints where to continue. */
const follow = (after: string, crm: MessagingCrm, secret: Redacted.Redacted, options: Options) => {
  const controller = new AbortController()
  const events = crm.events.stream({ after }, { signal: controller.signal })
  const iterator = events[Symbol.asyncIterator]()
  const { base_url, event_types } = options
  const isSelected = ({ type }: ClientEvent) => event_types.length === 0 || event_types.some((each) => each === type)
  return Effect.gen(function*() {
    for (;;) {
      const { done, value } = yield* requesting(base_url, () => iterator.next())
      if (done === true) return
      if (isSelected(value)) yield* deliver(value, secret, options)
    }
  }).pipe(
    Effect.ensuring(Effect.suspend(() => {
      controller.abort()
      return Print.note(`Stopped. Continue with: --after ${events.cursor}`)
    }))
  )
}

/** Says once that the connection to the service is lost, until it is opened again. */
const onRetry = (base_url: string) => ({ attempt }: Retry): void => {
  if (attempt === 1) Effect.runSync(Print.note(`The connection to ${base_url} was lost. Trying again.`))
}

/** Fails unless the endpoint is on this machine, or another one was allowed. */
const checkTarget = ({ allow_remote, event, forward_to }: Options) => {
  if (Option.isNone(forward_to)) {
    return Option.isNone(event) ? Effect.void : Admin.reject("--event requires --forward-to.")()
  }
  return allow_remote || isLocal(forward_to.value)
    ? Effect.void
    : Admin.reject("--forward-to must be on this machine. To post events to another one, add --allow-remote.")()
}

/** Shows the endpoint, and the secret if the command generated it. */
const noteTarget = ({ forward_to, signing_secret }: Options, secret: Redacted.Redacted) => {
  if (Option.isNone(forward_to)) return Effect.void
  const secretLine = Option.isSome(signing_secret) ? "" : `\nSigning secret: ${Redacted.value(secret)}`
  return Print.note(`Forwarding to ${forward_to.value}${secretLine}`)
}

/** Receives events until it is interrupted, or posts one. */
export const listen = Effect.fnUntraced(function*(options: Options) {
  yield* checkTarget(options)
  const { api_key, base_url, event_types, signing_secret } = options
  const secret = Option.isSome(signing_secret) ? signing_secret.value : yield* newSecret
  const crm = new MessagingCrm({ apiKey: Redacted.value(api_key), baseUrl: base_url, onRetry: onRetry(base_url) })
  if (Option.isSome(options.event)) {
    yield* noteTarget(options, secret)
    return yield* replay(options.event.value, crm, secret, options)
  }
  // The cursor of `now`, so that no later event is missed. It also shows whether the service accepts the key.
  const query = { after: options.after, page_size: 1 }
  const first = yield* requesting(base_url, (signal) => crm.request("GET /events", { query }, { signal }))
  const after = options.after === "now" ? first.next_cursor ?? "now" : options.after
  const types = event_types.length === 0 ? "all events" : event_types.join(", ")
  yield* Print.note(`Listening for ${types} at ${base_url}`)
  yield* noteTarget(options, secret)
  return yield* follow(after, crm, secret, options)
})
