/** `dev` as a process, and the first requests to it. */
import { assert } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { createInterface } from "node:readline"
import { eventually } from "../../testing/Eventually.ts"
import * as Api from "../../testing/processes/Api.ts"
import * as Processes from "../../testing/processes/Processes.ts"
import type * as Servers from "../../testing/processes/Servers.ts"

const Ready = Schema.fromJsonString(Schema.Struct({
  base_url: Schema.String,
  docs_url: Schema.String,
  database_url: Schema.NullOr(Schema.String),
  api_key: Schema.String,
  organization_id: Schema.String,
  member_id: Schema.String,
  channels: Schema.Array(Schema.Struct({ id: Schema.String, type: Schema.String })),
  template_ids: Schema.Array(Schema.String)
}))

/** `dev --json`, once it has said that it is ready. */
export const dev = Effect.fnUntraced(function*(
  data_dir: string,
  args: ReadonlyArray<string> = [],
  environment: Processes.Environment = {}
) {
  const started = yield* Processes.startMain(["dev", "--json", "--port", "0", "--data-dir", data_dir, ...args], {
    LOG_LEVEL: "none",
    ...environment
  })
  const line = yield* Effect.callback<string>((resume) => {
    const { stdout } = started.child
    if (stdout !== null) createInterface({ input: stdout }).once("line", (text) => resume(Effect.succeed(text)))
  })
  const ready = yield* Effect.orDie(Schema.decodeUnknownEffect(Ready)(line))
  const stop = Effect.andThen(Effect.sync(() => started.child.kill("SIGTERM")), started.exited)
  const server: Servers.Server = { port: 0, url: ready.base_url.replace(/\/v1$/, "") }
  return { ready, server, stop }
})

export const Data = Schema.fromJsonString(Schema.Struct({ data: Schema.Record(Schema.String, Schema.Unknown) }))

const until = <E>(get: Effect.Effect<Api.Response, E>, field: string, value: string) =>
  eventually(
    get.pipe(
      Effect.flatMap(({ text }) => Schema.decodeUnknownEffect(Data)(text)),
      Effect.map(({ data }) => data)
    ),
    (data) => data[field] === value
  )

/** Starts a conversation and follows it until the message is read. */
export const journey = Effect.fnUntraced(function*(server: Servers.Server, ready: typeof Ready.Type) {
  const key = ready.api_key
  const channel = ready.channels.find(({ type }) => type === "phone_messaging")
  const json = {
    ...Api.newConversation(channel?.id ?? "", "+49 151 12345678", "Kim"),
    template: {
      ...Api.newConversation("", "", "Kim").template,
      id: ready.template_ids.find((id) => id.endsWith("order_ready"))
    }
  }
  const started = yield* Api.request(server, "POST", "/conversations", {
    key,
    json,
    idempotency_key: crypto.randomUUID()
  })
  assert.strictEqual(started.status, 202, started.text)
  const { data } = yield* Schema.decodeUnknownEffect(Data)(started.text)
  const sent = yield* until(Api.request(server, "GET", `/sends/${data["id"]}`, { key }), "status", "sent")
  const path = `/conversations/${sent["conversation_id"]}/messages/${sent["message_id"]}`
  yield* until(Api.request(server, "GET", path, { key }), "status", "read")
  return path
})
