/** A method of the client for each operation of the document, called with real requests to the real API over memory. */
import { assert, describe, it } from "@effect/vitest"
import { MessagingCrm, MessagingCrmError } from "@messaging-crm/client"
import { readFileSync } from "node:fs"
import { afterAll } from "vitest"
import { start } from "../../adapter-http/testing/Service.ts"

const service = start()
afterAll(() => service.stop())
const { key } = await service.organization()

const document = JSON.parse(readFileSync(new URL("../../adapter-http/openapi.json", import.meta.url), "utf8"))
const operations = Object.entries<object>(document.paths).flatMap(([path, methods]) =>
  Object.keys(methods).map((method) => `${method.toUpperCase()} ${path.replaceAll(/\{\w+\}/g, "{id}")}`)
)

const id = "0199abcd-0000-7000-8000-00000000000f"
const template = { id: "order_ready", components: [] }

const calls: Readonly<Record<string, (crm: MessagingCrm) => Promise<unknown>>> = {
  "GET /channels": (crm) => crm.channels.list().page(),
  "GET /contact-fields": (crm) => crm.contactFields.list().page(),
  "GET /contacts": (crm) => crm.contacts.list().page(),
  "POST /contacts": (crm) => crm.contacts.create({ first_name: "Kim" }),
  "POST /contacts/upsert": (crm) =>
    crm.contacts.upsert({ match: "primary_email", contacts: [{ primary_email: "kim@shop.example" }] }),
  "GET /contacts/{id}": (crm) => crm.contacts.get(id),
  "PATCH /contacts/{id}": (crm) => crm.contacts.update(id, { city: "Berlin" }),
  "POST /contacts/{id}/notes": (crm) => crm.contacts.addNote(id, { text: "called" }),
  "GET /conversations": (crm) => crm.conversations.list().page(),
  "POST /conversations": (crm) => crm.conversations.start({ channel_id: id, phone: "+4915112345678", template }),
  "GET /conversations/{id}": (crm) => crm.conversations.get(id),
  "PATCH /conversations/{id}/assignment": (crm) => crm.conversations.assign(id, { assigned_user_id: null }),
  "POST /conversations/{id}/close": (crm) => crm.conversations.close(id),
  "POST /conversations/{id}/reopen": (crm) => crm.conversations.reopen(id),
  "GET /conversations/{id}/messages": (crm) => crm.messages.list(id).page(),
  "POST /conversations/{id}/messages": (crm) => crm.messages.send(id, { type: "text", text: "Thank you" }),
  "GET /conversations/{id}/messages/{id}": (crm) => crm.messages.get(id, id),
  "GET /events": (crm) => crm.events.list().page(),
  "GET /events/{id}": (crm) => crm.events.get(id),
  "GET /members": (crm) => crm.members.list().page(),
  "GET /sends": (crm) => crm.sends.list().page(),
  "GET /sends/{id}": (crm) => crm.sends.get(id),
  "GET /tags": (crm) => crm.tags.list().page(),
  "POST /tags": (crm) => crm.tags.create({ name: "VIP", color: "amber" }),
  "GET /templates": (crm) => crm.templates.list().page(),
  "GET /webhooks": (crm) => crm.webhooks.list().page(),
  "POST /webhooks": (crm) => crm.webhooks.create({ url: "https://shop.example", event_types: ["message.sent"] }),
  "GET /webhooks/{id}": (crm) => crm.webhooks.get(id),
  "PATCH /webhooks/{id}": (crm) => crm.webhooks.update(id, { event_types: ["message.sent"] }),
  "DELETE /webhooks/{id}": (crm) => crm.webhooks.disable(id),
  "POST /webhooks/{id}/rotate_secret": (crm) => crm.webhooks.rotateSecret(id),
  "POST /webhooks/{id}/test": (crm) => crm.webhooks.test(id),
  "POST /webhooks/{id}/replay": (crm) => crm.webhooks.replay(id, new Date().toISOString()),
  "GET /webhooks/{id}/deliveries": (crm) => crm.webhooks.deliveries(id).page(),
  "POST /webhooks/{id}/deliveries/{id}/retry": (crm) => crm.webhooks.retry(id, id)
}

it("has a method for every operation of the document", () => assert.sameMembers(Object.keys(calls), operations))

describe("a method sends exactly one request, for", () => {
  for (const [operation, call] of Object.entries(calls)) {
    it(operation, async () => {
      const requested: Array<string> = []
      const fetch = (url: string, init: RequestInit): Promise<Response> => {
        const path = new URL(url).pathname.replace(/^\/v1/, "").replaceAll(id, "{id}")
        requested.push(`${init.method} ${path}`)
        return service.fetch(url, init)
      }
      const crm = new MessagingCrm({ apiKey: key, baseUrl: "http://localhost/v1/", fetch, maxRetries: 0 })
      const error = await call(crm).then(() => null, (error: unknown) => error)
      // Some calls fail, because no resource has this ID.
      if (error !== null) {
        assert.instanceOf(error, MessagingCrmError)
        assert.isBelow(error.status, 500)
      }
      assert.deepStrictEqual(requested, [operation])
    })
  }
})
