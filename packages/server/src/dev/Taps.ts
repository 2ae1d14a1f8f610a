/** The taps of the console of `dev`: they report to its page what happens in this process. */
import { errorOf } from "@messaging-crm/adapter-http/api/ErrorCode"
import type { Monitor, SendReport } from "@messaging-crm/console"
import { type Changes, fullBodyOf } from "@messaging-crm/core/Changes"
import { Commit } from "@messaging-crm/core/Commit"
import { ContactRows } from "@messaging-crm/core/Contacts"
import { ConversationRows } from "@messaging-crm/core/Conversations"
import type * as Crm from "@messaging-crm/core/Crm"
import { MessagingProvider } from "@messaging-crm/core/MessagingProvider"
import { SendRows } from "@messaging-crm/core/Sends"
import { WebhookDeliveryRows } from "@messaging-crm/core/WebhookDeliveries"
import { Clock, DateTime, Effect, Layer, References, Struct } from "effect"
import { HttpServerRequest, type HttpServerResponse } from "effect/http"
import type { Provider } from "../Provider.ts"

const textOf = (value: unknown) => DateTime.isDateTime(value) ? DateTime.formatIso(value) : value

/** Returns what the page shows of the columns of a send. */
const reportOf = (id: string, columns: Readonly<Record<string, unknown>>): SendReport => {
  const { content, conversation_id, created_at, failure_reason, recipient, status } = columns
  const shown = { conversation_id, created_at: textOf(created_at), failure_reason, recipient, status }
  const known = Object.fromEntries(Object.entries(shown).filter(([, value]) => value !== undefined))
  const text = typeof content === "object" && content !== null && "text" in content
    ? { text: String(content.text) }
    : {}
  return { id, ...known, ...text }
}

/** Reports what a commit changed. */
const observe = (monitor: Monitor, { insert = [], raise = [], settle, update = [] }: Changes): void => {
  for (const { rows, table } of insert) {
    for (const row of rows) {
      const id = "id" in row ? String(row.id) : ""
      if (table === SendRows.table) monitor.send(reportOf(id, { ...row }))
      if (table === ConversationRows.table) monitor.change({ conversation_id: id })
    }
  }
  for (const { key, set, table } of update) {
    const id = key["id"] ?? ""
    if (table === SendRows.table) monitor.send(reportOf(id, { ...set }))
    if (table === ConversationRows.table) monitor.change({ conversation_id: id })
    if (table === ContactRows.table) monitor.change({ contact_id: id })
    if (table === WebhookDeliveryRows.table) monitor.delivery({ attempted: "attempt_count" in set })
  }
  if (settle?.outcome === "postpone" && settle.claimed.kind === "send") {
    monitor.send({ id: settle.claimed.ref, next_attempt_at: DateTime.formatIso(settle.due_at) })
  }
  for (const event of raise) monitor.event(JSON.parse(fullBodyOf(event) ?? event.body))
}

/** Pages, files and probes are not shown. */
const hidden_paths = /^\/(?:$|docs|favicon|health|media|metrics)/

/** Storage whose commits are reported, those of the shown organizations. */
export const storage = (
  monitor: Monitor,
  isShown: (organization_id: string) => boolean,
  ports: Layer.Layer<Crm.StoragePorts>
): Layer.Layer<Crm.StoragePorts> =>
  Layer.effect(
    Commit,
    Effect.map(Commit, ({ commit }) =>
      Commit.of({
        commit: (organization_id, changes) =>
          Effect.tap(commit(organization_id, changes), () =>
            Effect.sync(() => {
              if (isShown(organization_id)) observe(monitor, changes)
            }))
      }))
  ).pipe(Layer.provideMerge(ports))

/** A provider whose rejections are reported, with their reasons. */
export const outbound = (monitor: Monitor, provider: Provider["outbound"]): Provider["outbound"] =>
  Layer.effect(
    MessagingProvider,
    Effect.map(MessagingProvider, (provider) => {
      const report = (id: string, waits_for: string | null) => Effect.sync(() => monitor.send({ id, waits_for }))
      return MessagingProvider.of({
        ...provider,
        deliver: (message) =>
          provider.deliver(message).pipe(
            Effect.tapError((error) => report(message.reference, "reason" in error ? error.reason : null))
          )
      })
    })
  ).pipe(Layer.provide(provider))

/** Reports each completed request, and keeps the console's own out of the log. */
export const middleware = (
  monitor: Monitor,
  isOwn: (request: HttpServerRequest.HttpServerRequest) => boolean
) =>
<E, R>(respond: Effect.Effect<HttpServerResponse.HttpServerResponse, E, R>) =>
  Effect.gen(function*() {
    const request = yield* HttpServerRequest.HttpServerRequest
    if (isOwn(request)) return yield* Effect.provideService(respond, References.MinimumLogLevel, "Warn")
    const started = yield* Clock.currentTimeMillis
    const response = yield* respond
    const duration_ms = (yield* Clock.currentTimeMillis) - started
    const [path = ""] = request.url.split("?")
    if (!hidden_paths.test(path)) {
      const error = errorOf(response)
      monitor.request({
        method: request.method,
        path,
        status: response.status,
        code: error?.code ?? null,
        error: error === null ? null : Struct.pick(error, ["message", "param", "request_id"]),
        duration_ms
      })
    }
    return response
  })
