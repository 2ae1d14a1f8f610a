// The built nodes against a service: API_KEY and BASE_URL are those of `dev`. n8n's own package computes the parameters, and only
// the parts of n8n that a node calls are replaced.
import assert from "node:assert/strict"
import { once } from "node:events"
import { createServer } from "node:http"
import { createRequire } from "node:module"
import { buffer } from "node:stream/consumers"
import { test } from "node:test"

const require = createRequire(import.meta.url)
const { NodeHelpers } = require("n8n-workflow")
const { MessagingCrm } = require("./build/dist/nodes/MessagingCrm/MessagingCrm.node.js")
const { MessagingCrmTrigger } = require("./build/dist/nodes/MessagingCrmTrigger/MessagingCrmTrigger.node.js")
const { MessagingCrmApi } = require("./build/dist/credentials/MessagingCrmApi.credentials.js")
const { requests } = require("./build/dist/nodes/MessagingCrm/operations.json")

const { API_KEY = "", BASE_URL = "" } = process.env
const credentials = { apiKey: API_KEY, baseUrl: BASE_URL }

/** The headers of the credentials, with their expressions filled as n8n does. */
const credentialHeaders = () =>
  Object.fromEntries(
    Object.entries(new MessagingCrmApi().authenticate.properties.headers).map(([name, text]) => [
      name,
      text.replace(/^=/, "").replace(/\{\{\$credentials\.(\w+)\}\}/g, (_, field) => credentials[field])
    ])
  )

const sent = []

/** Sends a request as n8n's helper does. */
const httpRequest = async (
  type,
  { body, headers = {}, ignoreHttpStatusErrors, method, qs = {}, returnFullResponse, url }
) => {
  assert.equal(type, new MessagingCrmApi().name)
  sent.push({ method, url, headers })
  const query = new URLSearchParams(Object.entries(qs).map(([name, value]) => [name, String(value)]))
  const response = await fetch(`${url}${query.size === 0 ? "" : `?${query}`}`, {
    method,
    headers: {
      ...headers,
      ...credentialHeaders(),
      ...(body === undefined ? {} : { "content-type": "application/json" })
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) })
  })
  const json = await response.json()
  if (!response.ok && !ignoreHttpStatusErrors) {
    throw Object.assign(new Error(json.error.message), { httpCode: String(response.status) })
  }
  return returnFullResponse ? { statusCode: response.status, body: json } : json
}

/** The part of n8n that every node calls. Parameters that are not given have the default of the description. */
const contextOf = (node, given) => {
  const { description } = node
  const self = {
    id: "node-1",
    name: description.displayName,
    type: description.name,
    typeVersion: 1,
    position: [0, 0],
    parameters: given
  }
  const parameters = NodeHelpers.getNodeParameters(description.properties, given, true, false, self, description)
  return {
    getNode: () => self,
    getCredentials: async () => credentials,
    getNodeParameter: (name, _index, fallback) => parameters[name] ?? fallback,
    helpers: {
      httpRequestWithAuthentication: { call: (_this, ...args) => httpRequest(...args) },
      returnJsonArray: (json) => [{ json }]
    }
  }
}

/** Runs an operation with its required parameters, and returns the items. */
const run = async (
  resource,
  operation,
  parameters = {},
  { continues = false, execution = crypto.randomUUID() } = {}
) => {
  const node = new MessagingCrm()
  const [items] = await node.execute.call({
    ...contextOf(node, { resource, operation, ...parameters }),
    getInputData: () => [{ json: {} }],
    getExecutionId: () => execution,
    getWorkflowDataProxy: () => ({ $runIndex: 0 }),
    continueOnFail: () => continues
  })
  return items
}

test("every operation is offered in its resource, with a parameter for each part of its request", () => {
  const { properties } = new MessagingCrm().description
  const offered = properties.filter(({ name }) => name === "operation").flatMap(({ options }) =>
    options.map(({ value }) => value)
  )
  assert.deepEqual(offered.toSorted(), Object.keys(requests).toSorted())
  for (const [operation, { body, path_fields, query }] of Object.entries(requests)) {
    const own = properties.filter(({ displayOptions }) => displayOptions?.show.operation?.includes(operation))
    const optional = own.find(({ name }) => name === "options")?.options ?? []
    const names = new Set([...own, ...optional].map(({ name }) => name))
    for (const { name } of [...path_fields, ...query, ...(body ?? [{ name: "body" }])]) assert.ok(names.has(name), name)
  }
})

test("an agent's workflow finds a contact, reads its conversation, and answers it", async () => {
  const conversations = await run("conversations", "listConversations", { options: { status: "open" } })
  assert.ok(conversations.length > 0)
  const open = conversations.find(({ json }) => Date.parse(json.reply_window_expires_at) > Date.now())
  const [{ json: contact }] = await run("contacts", "getContact", { contact_id: open.json.contact.id })
  assert.equal(contact.id, open.json.contact.id)
  const messages = await run("messages", "listMessages", { conversation_id: open.json.id })
  assert.equal(messages[0].json.conversation_id, open.json.id)
  const [{ json: send, pairedItem }] = await run("messages", "sendMessage", {
    conversation_id: open.json.id,
    body: JSON.stringify({ type: "text", text: "From n8n" })
  })
  assert.equal(send.status, "queued")
  assert.deepEqual(pairedItem, { item: 0 })
})

test("an attempt that is repeated in an execution has one effect, and another execution another one", async () => {
  const create = (execution) =>
    run("contacts", "createContact", { options: { first_name: "Once", last_name: "n8n" } }, { execution })
  const [first, repeated, other] = [await create("e1"), await create("e1"), await create("e2")]
  assert.equal(first[0].json.id, repeated[0].json.id)
  assert.notEqual(first[0].json.id, other[0].json.id)
})

test("all pages are returned on request", async () => {
  const page = await run("contacts", "listContacts", { options: { page_size: 2 } })
  assert.equal(page.length, 2)
  const all = await run("contacts", "listContacts", { options: { page_size: 50, return_all: true } })
  assert.equal(new Set(all.map(({ json }) => json.id)).size, all.length)
  assert.ok(all.length > 2)
})

test("an error names what is wrong, and can be an item", async () => {
  const contact_id = "01990000-0000-7000-8000-000000000000"
  await assert.rejects(run("contacts", "getContact", { contact_id }), { name: "NodeApiError" })
  const [{ json }] = await run("contacts", "getContact", { contact_id }, { continues: true })
  assert.match(json.error, /\w+/)
  await assert.rejects(run("messages", "sendMessage", { conversation_id: contact_id, body: "{" }), /body must be JSON/)
})

test("the trigger registers its webhook, accepts only signed requests, and removes it", async () => {
  const received = []
  const receiver = createServer(async (request, response) => {
    received.push({ headers: request.headers, rawBody: await buffer(request) })
    response.end()
  }).listen(0, "127.0.0.1")
  await once(receiver, "listening")
  const url = `http://127.0.0.1:${receiver.address().port}/webhook`
  const node = new MessagingCrmTrigger()
  const kept = {}
  const context = {
    ...contextOf(node, { event_types: ["contact.created", "webhook.disabled"] }),
    getNodeWebhookUrl: () => url,
    getWorkflowStaticData: () => kept
  }
  const { checkExists, create, delete: remove } = node.webhookMethods.default
  assert.equal(await checkExists.call(context), false)
  assert.equal(await create.call(context), true)
  assert.match(kept.signing_secret, /^whsec_/)
  assert.equal(await checkExists.call(context), true)
  assert.equal(await checkExists.call({ ...context, getNodeWebhookUrl: () => `${url}/other` }), false)

  await run("contacts", "createContact", { options: { first_name: "Triggered" } })
  for (let tries = 0; received.length === 0 && tries < 200; tries++) {
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  const [{ headers, rawBody }] = received
  const deliver = async (changed = {}) => {
    const status = []
    const response = { status: (code) => (status.push(code), response), send: () => response, end: () => response }
    const result = await node.webhook.call({
      ...context,
      getHeaderData: () => changed.headers ?? headers,
      getBodyData: () => JSON.parse(rawBody.toString()),
      getRequestObject: () => ({ rawBody: changed.rawBody ?? rawBody }),
      getResponseObject: () => response
    })
    return { result, status }
  }
  const { result, status } = await deliver()
  assert.deepEqual(status, [])
  assert.equal(result.workflowData[0][0].json.type, "contact.created")
  const forged = [
    { rawBody: Buffer.concat([rawBody, Buffer.from(" ")]) },
    { headers: { ...headers, "webhook-signature": "v1,AAAA" } },
    { headers: { ...headers, "webhook-timestamp": String(Number(headers["webhook-timestamp"]) - 1) } },
    { headers: { ...headers, "webhook-id": undefined } }
  ]
  for (const each of forged) {
    assert.deepEqual(await deliver(each), { result: { noWebhookResponse: true }, status: [401] })
  }

  const { webhook_id } = kept
  assert.equal(await remove.call(context), true)
  assert.deepEqual(kept, {})
  assert.equal(await checkExists.call(context), false)
  const [{ json }] = await run("webhooks", "getWebhook", { webhook_id })
  assert.equal(json.status, "disabled")
  receiver.close()
})
