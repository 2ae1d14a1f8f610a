/** The inbox over a service with 10,000 conversations, in Debian's Chromium. */
import { makeConsole } from "@messaging-crm/console"
import { once } from "node:events"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { text } from "node:stream/consumers"
import { chromium } from "playwright-core"
import { assert, it, onTestFinished } from "vitest"
import { assertAccessible } from "./Accessibility.ts"

const conversations = Array.from({ length: 10_000 }, (_, index) => ({
  id: `conversation-${index}`,
  channel: { id: "phone", type: "phone_messaging" },
  contact: { id: `contact-${index}`, display_name: `Contact ${index}`, external_id: `+49151${index}`, username: null },
  status: "open",
  assigned_user_id: null,
  last_activity_at: new Date(Date.UTC(2026, 0, 1) - index * 1000).toISOString(),
  last_activity_preview: `Message ${index}`,
  reply_window_expires_at: "2999-01-01T00:00:00.000Z"
}))

const contact = {
  primary_phone: null,
  primary_email: null,
  company: null,
  lifecycle_stage: null,
  source: null,
  notes: null,
  tags: []
}

const message = (index: number) => ({
  id: `message-${index}`,
  created_at: new Date(Date.UTC(2026, 0, 1) + index * 1000).toISOString(),
  type: "text",
  text: `Text ${index}`,
  direction: "inbound",
  status: "received",
  sender: { type: "contact", name: "Kim" },
  media: null,
  edited_at: null,
  deleted_at: null
})

const messages = Array.from({ length: 90 }, (_, index) => message(index))

const requested_paths: Array<string> = []

/** Returns the page of the messages before the one at `end`. */
const messagesBefore = (end: number): Response =>
  Response.json({ data: messages.slice(end - 30, end).toReversed(), next_cursor: end > 30 ? String(end - 30) : null })

/** A service with pages of conversations and of messages, and empty lists of all other resources. */
const service = async (address: string): Promise<Response> => {
  const { pathname, searchParams } = new URL(address)
  requested_paths.push(pathname)
  const [, id] = pathname.split("/v1/contacts/")
  if (id !== undefined) return Response.json({ data: { ...contact, id } })
  const cursor = searchParams.get("cursor")
  if (pathname.endsWith("/messages")) return messagesBefore(Number(cursor ?? messages.length))
  const [, conversation_id] = pathname.split("/v1/conversations/")
  if (conversation_id !== undefined) {
    return Response.json({ data: conversations.find((each) => each.id === conversation_id) })
  }
  if (pathname !== "/v1/conversations") return Response.json({ data: [], next_cursor: null })
  const [from, size] = [Number(cursor ?? 0), Number(searchParams.get("page_size"))]
  const end = from + size
  return Response.json({
    data: conversations.slice(from, end),
    next_cursor: end < conversations.length ? String(end) : null
  })
}

/** Serves a handler of web requests until the test ends. */
const serve = async (handle: (request: Request) => Promise<Response>) => {
  const server = createServer(async (request, response) => {
    const { headers, method = "GET", url } = request
    const body = method === "POST" ? { body: await text(request) } : {}
    const requestHeaders = new Headers(Object.entries(headers).map(([name, value]) => [name, String(value)]))
    const handled = await handle(
      new Request(`http://${headers.host}${url}`, { method, headers: requestHeaders, ...body })
    )
    response.writeHead(handled.status, Object.fromEntries(handled.headers))
    for await (const chunk of handled.body ?? []) response.write(chunk)
    response.end()
  }).listen(0, "127.0.0.1")
  await once(server, "listening")
  onTestFinished(() => void server.close())
  // The address of a TCP server has this type.
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** Opens an inbox with a title in a browser until the test ends. */
const openInbox = async (title: string) => {
  const inbox = makeConsole({
    apiKey: "svc_live_of_this_test",
    baseUrl: "http://crm.test/v1",
    path: "/inbox",
    hosts: ["127.0.0.1"],
    title,
    fetch: service
  })
  const address = await serve(inbox.handle)
  const browser = await chromium.launch({
    executablePath: process.env["CHROMIUM"] ?? "/usr/bin/chromium",
    // Chromium has no sandbox for root, the user of containers.
    chromiumSandbox: process.getuid?.() !== 0
  })
  onTestFinished(async () => {
    await browser.close()
    inbox.close()
  })
  const page = await browser.newPage({ reducedMotion: "reduce" })
  await page.goto(`${address}/inbox`)
  await page.getByRole("option", { name: /Contact 0 / }).waitFor()
  return { page, publish: inbox.publish }
}

it("has the title of its options", async () => {
  const { page } = await openInbox("Support & sales")
  // After the number of conversations that wait for an answer, once they are shown.
  assert.match(await page.title(), /^(\(\d+\) )?Support & sales$/)
})

it("scrolls through 10,000 conversations, page by page, with few rows in the document", async () => {
  requested_paths.splice(0)
  const { page } = await openInbox("Inbox")
  const pages = () => requested_paths.filter((path) => path === "/v1/conversations").length
  assert.strictEqual(pages(), 1)
  assert.strictEqual(await page.getByRole("link", { name: "Webhooks" }).count(), 0)

  const rows = page.getByRole("option")
  const last = page.getByRole("option", { name: /Contact 9999 / })
  while (await last.count() === 0) {
    await page.evaluate("document.querySelector('.conversations').scrollTo(0, 1e9)")
    await page.evaluate("new Promise(requestAnimationFrame)")
    assert.isBelow(await rows.count(), 60)
  }
  assert.strictEqual(pages(), 100)
  await last.click()
  await page.getByRole("heading", { name: "Contact 9999" }).waitFor()

  // From the top, with the keyboard only.
  await page.getByRole("listbox").press("Home")
  await page.getByRole("heading", { name: "Contact 0" }).waitFor()
  await page.keyboard.press("ArrowDown")
  await page.getByRole("heading", { name: "Contact 1", exact: true }).waitFor()
})

it("keeps the end of a conversation visible, or else the position when older messages are inserted", async () => {
  const { page, publish } = await openInbox("Inbox")
  const waitFor = (text: string) => page.getByText(text, { exact: true }).waitFor()
  const list = "document.querySelector('.messages')"
  const untilAtEnd = () => page.waitForFunction(`${list}.scrollHeight - ${list}.scrollTop - ${list}.clientHeight < 1`)
  const receive = (index: number) => {
    messages.push(message(index))
    const data = { conversation_id: "conversation-0", message_id: `message-${index}` }
    publish({ id: `event-${index}`, type: "message.received", timestamp: "2026-01-01T00:00:00.000Z", data })
    return waitFor(`Text ${index}`)
  }
  await page.getByRole("option", { name: /Contact 0 / }).click()
  await waitFor("Text 89")
  await untilAtEnd()
  await receive(90)
  await untilAtEnd()

  const top_of_65 = "Array.from(document.querySelectorAll('.bubble p')).find((text) => text.textContent === 'Text 65')"
    + ".getBoundingClientRect().top"
  const top = await page.evaluate<number>(`${list}.scrollTo(0, 150), ${top_of_65}`)
  await waitFor("Text 31")
  assert.closeTo(await page.evaluate<number>(top_of_65), top, 1)
  await receive(91)
  assert.closeTo(await page.evaluate<number>(top_of_65), top, 1)
})

it("keeps the selected conversation when responses for another one arrive late", async () => {
  const { page } = await openInbox("Inbox")
  const heading = (name: string) => page.getByRole("heading", { name, exact: true })
  const field = page.getByRole("textbox", { name: "Message" })
  const opened = Promise.withResolvers<void>()
  await page.route("**/call/conversation", async (route) => {
    await opened.promise
    await route.continue()
  })
  await page.route("**/call/close", async (route) => {
    await opened.promise
    await route.fulfill({ json: { ...conversations[0], status: "closed" } })
  })
  await page.route(
    "**/call/send",
    (route) => route.fulfill({ status: 503, json: { error: { message: "Unavailable." } } })
  )

  await page.getByRole("option", { name: /Contact 0 / }).click()
  await heading("Contact 0").waitFor()
  await page.getByRole("button", { name: "Close", exact: true }).click()
  await page.evaluate("location.hash = '#/inbox/conversation-5'")
  await page.getByRole("option", { name: /Contact 1 / }).click()
  await heading("Contact 1").waitFor()
  await page.getByRole("textbox", { name: "Note" }).fill("A note on Contact 1")
  const responses = ["conversation", "close"].map((name) => page.waitForResponse(`**/call/${name}`))
  opened.resolve()
  await Promise.all(responses)

  await field.fill("A reply to Contact 1")
  const sent = page.waitForRequest("**/call/send")
  await field.press("Enter")
  assert.strictEqual((await sent).postDataJSON().id, "conversation-1")
  await page.getByText("Unavailable.").waitFor()
  assert.isTrue(await heading("Contact 1").isVisible())
  assert.strictEqual(await field.inputValue(), "A reply to Contact 1")
  await page.getByRole("option", { name: /Contact 2 / }).click()
  await heading("Contact 2").waitFor()
  await page.getByRole("textbox", { name: "Note" }).waitFor()
  assert.strictEqual(await page.getByRole("textbox", { name: "Note" }).inputValue(), "")
  assert.strictEqual(await field.inputValue(), "")
})

it("shows files, locations, contacts, orders, choices, and reactions in the thread", async () => {
  const { page } = await openInbox("Inbox")
  const text = (value: string) => ({ type: null, value })
  const media = { mime_type: null, transcript: null, byte_size: 2_500_000, filename: "Offer.pdf", url: "data:," }
  const location = { latitude: 52.5, longitude: 13.4, name: "Our shop", address: "Main street 1", url: null }
  const person = {
    name: "Kim Example",
    organization: "Example Ltd",
    department: null,
    job_title: "Buyer",
    birthday: null,
    phones: [{ ...text("+49 151 1234"), external_id: null }],
    emails: [text("kim@example.com")],
    urls: [text("javascript:alert(1)")],
    addresses: []
  }
  const items = [
    { product_id: "bike", quantity: 2, price: 450, currency: "EUR" },
    { product_id: "pump", quantity: 1, price: 19.5, currency: "EUR" }
  ]
  const option = { id: "1", payload: null, description: null }
  const parts: ReadonlyArray<object> = [
    { media: { ...media, kind: "document" }, text: "The offer" },
    { media: { ...media, kind: "audio", transcript: "Please call me." }, text: null },
    { media: { ...media, kind: "video" }, text: null },
    { media: { ...media, kind: "image", url: null }, text: null },
    { type: "location", text: null, details: { location } },
    { type: "contacts", text: null, details: { contacts: [person] } },
    { type: "interactive", text: null, details: { order: { catalog_id: "c", text: "As agreed", items } } },
    { type: "interactive", text: "Tomorrow", details: { choice: { ...option, kind: "button", title: "Tomorrow" } } },
    {
      type: "reaction",
      text: null,
      details: { reaction: { action: "react", emoji: "👍", provider_message_id: null } }
    },
    { text: "A reply", details: { quoted: { provider_message_id: "wamid.0", from: null } } },
    { type: "unsupported", text: null, details: { provider_type: "poll" } },
    {
      direction: "outbound",
      status: "failed",
      details: { failure: { code: 131_047, title: "Too late", description: null } }
    }
  ]
  const data = parts.map((part, index) => ({ ...message(index), provider_message_id: `wamid.${index}`, ...part }))
  await page.route(
    "**/call/messages",
    (route) => route.fulfill({ json: { data: data.toReversed(), next_cursor: null } })
  )
  await page.getByRole("option", { name: /Contact 0 / }).click()
  const bubble = (index: number) => page.locator(".bubble").nth(index)
  await bubble(0).getByRole("link", { name: "Offer.pdf 2.5 MB" }).waitFor()
  await bubble(1).locator("audio").waitFor()
  await bubble(1).getByText("Please call me.").waitFor()
  await bubble(2).locator("video").waitFor()
  await bubble(3).getByText("not stored").waitFor()
  assert.match(await bubble(4).getByRole("link").getAttribute("href") ?? "", /^https:..www.openstreetmap.org.*52.5/)
  await bubble(4).getByText("Main street 1").waitFor()
  assert.strictEqual(await bubble(5).getByRole("link", { name: "+49 151 1234" }).getAttribute("href"), "tel:+491511234")
  await bubble(5).getByText("Buyer, Example Ltd").waitFor()
  // A link of a stranger that runs a script is only a text.
  await bubble(5).getByText("javascript:alert(1)").waitFor()
  assert.strictEqual(await bubble(5).getByRole("link").count(), 2)
  await bubble(6).getByText("2 × bike").waitFor()
  await bubble(6).getByText("€919.50").waitFor()
  assert.strictEqual(await bubble(7).getByText("Tomorrow").count(), 1)
  await bubble(8).getByText("Reacted with 👍").waitFor()
  await bubble(9).getByText("The offer").waitFor()
  await bubble(10).getByText("poll: shown only in the network’s own app").waitFor()
  await bubble(11).getByText("Too late (code 131047)").waitFor()
  await assertAccessible(page, "messages of all kinds")
})
