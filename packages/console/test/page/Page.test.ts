/** The functions of the page that need no browser: values of templates, statuses of messages, lists, and throttling. */
import { assert, describe, it } from "@effect/vitest"
import { onTestFinished, vi } from "vitest"
import { withoutResource } from "../../page/development/withoutResource.mjs"
import { throttled } from "../../page/elements/throttle.mjs"
import { matchesQuery, withConversations, withNewest } from "../../page/inbox/lists.mjs"
import { follows } from "../../page/inbox/statuses.mjs"
import { choiceOf, isAskedFor, partsOf, previewOf, unsupportedPartOf } from "../../page/inbox/templates.mjs"

const template = {
  id: "t1",
  parameter_format: "POSITIONAL",
  components: [
    { type: "HEADER", format: "TEXT", text: "Order {{1}}" },
    { type: "BODY", text: "Dear {{1}}, {{ 2 }} of {{1}} is here." },
    { type: "FOOTER", text: "Bye" },
    { type: "BUTTONS", buttons: [{ text: "Help", url: null }, { text: "Track", url: "https://shop.example/{{1}}" }] }
  ]
}

describe("a template", () => {
  it("requires one value for each placeholder of a part", () => {
    const parts = partsOf(template).map(({ names, type }) => [type, names])
    assert.deepStrictEqual(parts, [["header", ["1"]], ["body", ["1", "2"]], ["button", ["1"]]])
    const disordered = partsOf({ components: [{ type: "BODY", text: "{{10}} {{2}} {{1}}" }] })
    assert.deepStrictEqual(disordered.map(({ names }) => names), [["1", "2", "10"]])
  })

  it("is shown with the values that have been entered, and its button with the link", () => {
    const entered: Readonly<Record<string, string>> = { "1.1": "Kim", "2.1": "4712" }
    assert.deepStrictEqual(previewOf(template, (part, name) => entered[`${part}.${name}`] ?? ""), [
      "Order {{1}}",
      "Dear Kim, {{ 2 }} of Kim is here.",
      "Bye"
    ])
    const { label, url } = partsOf(template)[2] ?? {}
    assert.deepStrictEqual([label, url], ["Button “Track”", "https://shop.example/{{1}}"])
  })

  it("has a link to the file of its header, and a document a name", () => {
    const choice = (format: string, filename: string) =>
      choiceOf(
        { id: "t1", components: [{ type: "HEADER", format }] },
        (_, name) => name === "link" ? "https://a.example" : filename
      )
        .components[0]?.parameters
    assert.deepStrictEqual<unknown>(choice("IMAGE", "x"), [{ type: "image", image: { link: "https://a.example" } }])
    const document = { link: "https://a.example", filename: "x" }
    assert.deepStrictEqual<unknown>(choice("DOCUMENT", "x"), [{ type: "document", document }])
    assert.deepStrictEqual<unknown>(choice("DOCUMENT", ""), [{ type: "document", document: { link: document.link } }])
  })

  it("has the code of an authentication template in its body and its button, and a code to copy", () => {
    const button = (type: string) => ({ type: "BUTTONS", buttons: [{ type, text: "Copy", url: null }] })
    const components = [{ type: "BODY", text: null }, button("OTP")]
    const authentication = { id: "t1", category: "AUTHENTICATION", components }
    const parts = partsOf(authentication)
    assert.deepStrictEqual(parts.map((part) => [part.type, isAskedFor(authentication, part)]), [
      ["body", true],
      ["button", false]
    ])
    const code = [{ type: "text", text: "123456" }]
    assert.deepStrictEqual<unknown>(choiceOf(authentication, (part) => part === 0 ? "123456" : "").components, [
      { type: "body", parameters: code },
      { type: "button", sub_type: "url", index: 0, parameters: code }
    ])
    assert.deepStrictEqual<unknown>(
      choiceOf({ id: "t2", components: [button("COPY_CODE")] }, () => "123456").components,
      [
        { type: "button", sub_type: "copy_code", index: 0, parameters: code }
      ]
    )
  })

  it("that the API cannot fill names the part", () => {
    const partOf = (component: object) =>
      unsupportedPartOf({ components: [{ type: "BODY", text: "" }, component as never] })
    assert.strictEqual(partOf({ type: "CAROUSEL" }), "CAROUSEL")
    assert.strictEqual(partOf({ type: "HEADER", format: "GIF" }), "GIF header")
    assert.strictEqual(partOf({ type: "BUTTONS", buttons: [{ type: "MPM", text: null, url: null }] }), "MPM button")
    assert.isUndefined(partOf({ type: "HEADER", format: "IMAGE" }))
  })

  it("is sent with the values of its parts, by name if its parameters have names", () => {
    const text = (part: number, name: string) => `${part} ${name}`
    assert.deepStrictEqual(choiceOf(template, text), {
      id: "t1",
      components: [
        { type: "header", parameters: [{ type: "text", text: "0 1" }] },
        { type: "body", parameters: [{ type: "text", text: "1 1" }, { type: "text", text: "1 2" }] },
        { type: "button", sub_type: "url", index: 1, parameters: [{ type: "text", text: "2 1" }] }
      ]
    })
    const named = { id: "t2", parameter_format: "NAMED", components: [{ type: "BODY", text: "Dear {{name}}" }] }
    assert.deepStrictEqual(choiceOf(named, text), {
      id: "t2",
      components: [{ type: "body", parameters: [{ type: "text", text: "0 name", parameter_name: "name" }] }]
    })
  })
})

it("the status of a message never returns to an earlier one, and only a sent message fails", () => {
  const statuses = ["sent", "delivered", "read", "failed"]
  const allowed = statuses.flatMap((before) =>
    statuses.filter((status) => follows(status, before)).map((status) => `${before} ${status}`)
  )
  assert.deepStrictEqual(allowed, [
    "sent delivered",
    "sent read",
    "sent failed",
    "delivered read",
    "failed sent",
    "failed delivered",
    "failed read"
  ])
})

describe("the list of conversations", () => {
  const conversation = (id: string, minute: number, status = "open") => ({
    id,
    status,
    last_activity_at: `2026-11-20T10:${minute}:00.000Z`
  })
  const shown = [conversation("a", 30), conversation("b", 20)]
  const idsAfter = (update: ReturnType<typeof conversation>, filter = "open", isComplete = false) =>
    withConversations(shown, [update], { filter, isComplete }).map(({ id }) => id).join("")

  it("moves a changed conversation, and drops it once it no longer matches the filter", () => {
    assert.strictEqual(idsAfter(conversation("b", 40)), "ba")
    assert.strictEqual(idsAfter(conversation("b", 40, "closed")), "a")
    assert.strictEqual(idsAfter(conversation("b", 40, "closed"), "all"), "ba")
  })

  it("has only conversations that the API lists for the query", () => {
    const assigned = { assigned_user_id: "u1", channel: { id: "c1" }, contact: { id: "p1" } }
    const matching = [{}, { assigned_user_id: "u1" }, { channel_id: "c1", contact_id: "p1" }]
    const others = [{ assigned_user_id: "u2" }, { unassigned: "true" }, { channel_id: "c2" }, {
      contact_id: "p2"
    }] as const
    for (const query of matching) assert.isTrue(matchesQuery(assigned, query))
    for (const query of others) assert.isFalse(matchesQuery(assigned, query))
    assert.isTrue(matchesQuery({ ...assigned, assigned_user_id: null }, { unassigned: "true" }))
    assert.deepStrictEqual(
      withConversations(shown, [conversation("c", 40)], { filter: "open", isComplete: false, matches: () => false }),
      shown
    )
  })

  it("adds an older conversation only if no further page contains it", () => {
    assert.strictEqual(idsAfter(conversation("c", 25)), "acb")
    assert.strictEqual(idsAfter(conversation("c", 10)), "ab")
    assert.strictEqual(idsAfter(conversation("c", 10), "open", true), "abc")
  })
})

describe("the list of messages", () => {
  const message = (id: string, url?: string, kind = "image") => ({
    id,
    media: url === undefined ? null : { kind, url }
  })

  it("ends with the newest messages, and starts with them if messages between are missing", () => {
    const shown = [message("1"), message("2"), message("3")]
    const ids = (newest: ReadonlyArray<ReturnType<typeof message>>) => {
      const { hasGap, messages } = withNewest(shown, newest)
      return [hasGap, messages.map(({ id }) => id).join("")]
    }
    assert.deepStrictEqual(ids([message("2"), message("3"), message("4")]), [false, "1234"])
    assert.deepStrictEqual(ids([message("5"), message("6")]), [true, "56"])
  })

  it("keeps the links of shown pictures", () => {
    const shown = [message("1", "/old"), message("2", "/old", "document")]
    const { messages } = withNewest(shown, [
      message("1", "/new"),
      message("2", "/new", "document"),
      message("3", "/new")
    ])
    assert.deepStrictEqual(messages.map(({ media }) => media?.url), ["/old", "/new", "/new"])
  })
})

it("an event is shown as a webhook without resources receives it", () => {
  const event = { id: "e1", type: "message.received", data: { message_id: "m1" } }
  const data = { ...event.data, message: { id: "m1", text: "Hello" } }
  assert.deepStrictEqual(withoutResource({ ...event, data }), event)
  assert.deepStrictEqual(withoutResource(event), event)
})

it("a burst of calls runs the function at its start, and once more two seconds later", async () => {
  vi.useFakeTimers()
  onTestFinished(() => void vi.useRealTimers())
  let runs = 0
  const call = throttled(() => {
    runs++
  })
  const runsAfter = async (millis: number) => {
    await vi.advanceTimersByTimeAsync(millis)
    return runs
  }
  call()
  call()
  assert.strictEqual(await runsAfter(99), 0)
  assert.strictEqual(await runsAfter(1), 1)
  for (let times = 0; times < 10; times++) call()
  assert.strictEqual(await runsAfter(1999), 1)
  assert.strictEqual(await runsAfter(1), 2)
  assert.strictEqual(await runsAfter(10_000), 2)
  call()
  assert.strictEqual(await runsAfter(100), 3)
})
