/** A service in this process, and agents, which call it through the official SDK of the protocol. */
import { assert } from "@effect/vitest"
import type { Scope } from "@messaging-crm/core/ApiKeys"
import { Inbound } from "@messaging-crm/core/Inbound"
import { Client } from "@modelcontextprotocol/sdk/client/index.js"
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js"
import { DateTime, Effect, Layer, ManagedRuntime } from "effect"
import { HttpServer } from "effect/http"
import { idempotency, orderReady, start } from "../../../adapter-http/testing/Service.ts"
import * as Listener from "../../src/http/Listener.ts"
import * as Layers from "../../src/Layers.ts"
import * as Http from "../../src/mcp/Http.ts"

/** Starts the service, with a person who has written and one who has only received a template. */
export const startService = async (tuning: Layer.Layer<never> = Layer.empty) => {
  const service = start({ tuning })
  const runtime = ManagedRuntime.make(
    Layers.api(Effect.succeed(true), { ingress: Layer.empty }, { routes: Http.layer }).pipe(
      Layer.provideMerge(Listener.layer({ host: "127.0.0.1", port: 0 })),
      Layer.provide([tuning, Layer.succeedContext(await service.runtime.context())])
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
  return {
    channel,
    actor: { organization_id: organization.id, member_id: owner.id },
    base_url: `${origin}/v1`,
    key,
    keyWith,
    origin,
    service,
    stop
  }
}

/** An agent that is connected to a server of tools. */
export const connect = async (transport: Transport) => {
  const client = new Client({ name: "test", version: "1.0.0" })
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

export type Agent = Awaited<ReturnType<typeof connect>>
export type Service = Awaited<ReturnType<typeof startService>>

/** An agent finds a contact, reads its conversation, answers within the window, and only with a template outside of it. */
export const answerCustomers = async (agent: Agent, { service }: Service) => {
  const { data: [contact] } = await agent.read("list_contacts", { phone: "+49 151 12345678" })
  const { data: [conversation] } = await agent.read("list_conversations", { contact_id: contact.id })
  const conversation_id = conversation.id
  const messages = await agent.read("list_messages", { conversation_id })
  assert.strictEqual(messages.data[0].text, "When is order 4711 ready?")
  const { data: send } = await agent.read("send_message", {
    conversation_id,
    body: { type: "text", text: "Tomorrow" }
  })
  await service.until(async () => (await agent.read("get_send", { send_id: send.id })).data.status === "sent")
  assert.strictEqual((await agent.read("list_messages", { conversation_id })).data[0].text, "Tomorrow")

  const { data: [other] } = await agent.read("list_contacts", { phone: "+4915112345679" })
  const { data: [closed] } = await agent.read("list_conversations", { contact_id: other.id })
  const rejected = await agent.call("send_message", {
    conversation_id: closed.id,
    body: { type: "text", text: "Hello" }
  })
  assert.isTrue(rejected.isError)
  assert.include(rejected.text, "Only a template can be sent now: find an approved one with list_templates")
  const { data: templates } = await agent.read("list_templates")
  const template = templates.find(({ id }: { readonly id: string }) => id.endsWith("order_ready"))
  const parameters = (...texts: ReadonlyArray<string>) => texts.map((text) => ({ type: "text", text }))
  const { data: queued } = await agent.read("send_message", {
    conversation_id: closed.id,
    body: {
      type: "template",
      template: {
        id: template.id,
        components: [
          { type: "header", parameters: parameters("7") },
          { type: "body", parameters: parameters("Kim", "7") },
          { type: "button", sub_type: "url", index: 0, parameters: parameters("7") }
        ]
      }
    }
  })
  assert.strictEqual(queued.status, "queued")
}
