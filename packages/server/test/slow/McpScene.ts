/** A service in this process, and `messaging-crm mcp` as a program, which an agent calls through the SDK of the protocol. */
import type { Scope } from "@messaging-crm/core/ApiKeys"
import { Inbound } from "@messaging-crm/core/Inbound"
import { Client } from "@modelcontextprotocol/sdk/client/index.js"
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js"
import { DateTime, Effect, Layer, ManagedRuntime } from "effect"
import { HttpServer } from "effect/http"
import { idempotency, orderReady, start } from "../../../adapter-http/testing/Service.ts"
import * as Listener from "../../src/http/Listener.ts"
import * as Layers from "../../src/Layers.ts"
import { environment, program } from "../../testing/processes/Programs.ts"

/** Starts the service, with a person who has written and one who has only received a template. */
export const startService = async () => {
  const service = start()
  const runtime = ManagedRuntime.make(
    Layers.api(Effect.succeed(true), { ingress: Layer.empty }).pipe(
      Layer.provideMerge(Listener.layer({ host: "127.0.0.1", port: 0 })),
      Layer.provide(Layer.succeedContext(await service.runtime.context()))
    )
  )
  const origin = await runtime.runPromise(HttpServer.addressFormattedWith(Effect.succeed))
  const { channel, key, organization, owner } = await service.organization()
  const keyWith = (scopes: ReadonlyArray<Scope>) =>
    service.keyWith({ organization_id: organization.id, member_id: owner.id }, scopes)
  await service.runtime.runPromise(Effect.gen(function*() {
    const sent_at = yield* DateTime.now
    yield* Inbound.use((inbound) =>
      inbound.receive({
        event: "message_received",
        channel_id: channel.id,
        provider_message_id: "m.1",
        from: { external_id: "+4915112345678", display_name: "Kim Berg", username: null },
        type: "text",
        text: "When is order 4711 ready?",
        media: null,
        sent_at
      })
    )
  }))
  await service.request("POST", "/v1/conversations", {
    key,
    json: { channel_id: channel.id, phone: "+4915112345679", template: orderReady(channel) },
    ...idempotency()
  })
  const stop = async () => {
    await runtime.dispose()
    await service.stop()
  }
  return { base_url: `${origin}/v1`, key, keyWith, service, stop }
}

/** An agent that is connected to a server of tools. */
export const connect = async (
  flags: ReadonlyArray<string>,
  variables: { readonly API_KEY: string; readonly BASE_URL: string }
) => {
  const client = new Client({ name: "test", version: "1.0.0" })
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [program("main"), "mcp", ...flags],
    env: { PATH: process.env["PATH"] ?? "", LOG_LEVEL: "error", ...environment, ...variables }
  })
  await client.connect(transport)
  /** Calls a tool, and returns its text and whether it failed. */
  const call = async (name: string, args: Readonly<Record<string, unknown>> = {}) => {
    const { content, isError } = await client.callTool({ name, arguments: { ...args } })
    const [{ text }] = content as [{ readonly text: string }]
    return { text, isError: isError === true }
  }
  /** Calls a tool that succeeds, and returns its JSON. */
  const read = async (name: string, args?: Readonly<Record<string, unknown>>) => {
    const { isError, text } = await call(name, args)
    if (isError) throw new Error(`${name}: ${text}`)
    return JSON.parse(text)
  }
  return { call, client, read, stop: () => client.close() }
}
