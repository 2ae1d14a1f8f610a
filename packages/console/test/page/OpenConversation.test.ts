/** The actions of the open conversation, and responses that arrive after the agent has opened another one. */
import { assert, it } from "@effect/vitest"
import { beforeEach, vi } from "vitest"
import { installBrowser } from "./Browser.ts"

interface Call {
  readonly name: string
  readonly input: Readonly<Record<string, unknown>>
  readonly respond: (response: object) => void
}

const calls: Array<Call> = []
const field = { value: "", focus: () => {} }
const scrolledMessages = vi.fn()

const fetch = async (path: string, { body }: { readonly body: string }) => {
  const response = await new Promise<object>((respond) =>
    calls.push({ name: path.split("/").at(-1) ?? "", input: JSON.parse(body), respond })
  )
  if (response instanceof Error) throw response
  return Response.json(response)
}

// lit-html runs without a browser only if it is loaded before a document exists.
await import("lit-html")
vi.useFakeTimers()
installBrowser({
  document: {
    body: { dataset: { writeAsCustomer: "true" } },
    hidden: false,
    activeElement: field,
    querySelectorAll: () => [field],
    querySelector: (selector: string) =>
      selector === ".composer textarea" ? field : selector === ".messages" ? { scrollTo: scrolledMessages } : null
  },
  location: { hash: "" },
  requestAnimationFrame: (run: () => void) => setTimeout(run),
  fetch
})

const { resetState, state, updateState } = await import("../../page/store.mjs")
const open = await import("../../page/inbox/openConversation.mjs")
const { threadView } = await import("../../page/inbox/thread.mjs")
const { selectConversation } = await import("../../page/inbox/conversationList.mjs")

/** The state of a page with an open conversation. */
const opened = (name: string, notes = "old") => ({
  conversation: {
    id: `conversation ${name}`,
    channel: { id: "phone", type: "phone_messaging" },
    contact: { id: `contact ${name}`, display_name: name, external_id: `+49 ${name}` },
    status: "open",
    assigned_user_id: null,
    reply_window_expires_at: "2999-01-01T00:00:00.000Z"
  },
  contact: { id: `contact ${name}`, lifecycle_stage: null, tags: [{ id: "t1", name: "VIP", color: "red" }], notes },
  messages: [
    {
      id: `message of ${name}`,
      created_at: "2026-01-01T00:00:00.000Z",
      direction: "inbound",
      media: null,
      text: "Hello"
    }
  ],
  olderCursor: `before message of ${name}`
})

const [anna, ben] = [opened("Anna"), opened("Ben")]
const { contact: { id: contact_id }, conversation: { id } } = anna
const setup = { channels: [], members: [], tags: [{ id: "t1", name: "VIP" }, { id: "t2", name: "New" }] }

interface Template {
  readonly strings: ReadonlyArray<string>
  readonly values: ReadonlyArray<unknown>
}

/** Returns the templates that a drawn one contains, and itself. */
const templatesIn = (drawn: unknown): ReadonlyArray<Template> => {
  if (Array.isArray(drawn)) return drawn.flatMap(templatesIn)
  if (typeof drawn !== "object" || drawn === null || !("strings" in drawn)) return []
  const template = drawn as Template
  return [template, ...template.values.flatMap(templatesIn)]
}

/** Dispatches an event to the element of the open conversation that has a text near it. */
const dispatch = (type: string, text: string, event: object = {}) => {
  const template = templatesIn(threadView()).find(({ strings }) => strings.join("").includes(text))
  const listen = template?.values[template.strings.findIndex((part) => part.endsWith(`@${type}=`))]
  if (typeof listen !== "function") throw new Error(`Nothing with "${text}" listens to ${type}.`)
  listen({ preventDefault: () => {}, ...event })
}

const submitReply = () => dispatch("submit", `aria-label="Message"`)
const submitNote = (note: { value: string }) => dispatch("submit", `aria-label="Note"`, { target: { note } })

/** Opens Ben's conversation, whose reads have already arrived. */
const switchToBen = () => {
  const earlier = calls.splice(0)
  void selectConversation(ben.conversation as never)
  calls.splice(0, Infinity, ...earlier)
  updateState(ben as never)
}

const requested = () => calls.map(({ input, name }) => [name, input])

/** Responds to all calls that were requested until now. */
const respond = async (response: object) => {
  await vi.advanceTimersByTimeAsync(100)
  for (const call of calls.splice(0)) call.respond(response)
  await vi.advanceTimersByTimeAsync(100)
}

beforeEach(async () => {
  await vi.advanceTimersByTimeAsync(60_000)
  calls.splice(0)
  scrolledMessages.mockClear()
  field.value = ""
  resetState({ setup, ...anna })
})

const contactChanged = opened("Anna", "new").contact
const page = { data: [{ id: "another message" }], next_cursor: null, id: contact_id }

/** Each action and read of the open conversation: its operations, and their response. */
const actions: ReadonlyArray<readonly [what: string, names: string, act: () => unknown, response: object]> = [
  ["closing", "close", () => dispatch("click", "Assigned to"), { ...anna.conversation, status: "closed" }],
  [
    "assigning",
    "assign",
    () => dispatch("change", "Assigned to", { target: { value: "u1" } }),
    { ...anna.conversation, assigned_user_id: "u1" }
  ],
  ["adding a tag", "updateContact", () => dispatch("change", "Add a tag", { target: { value: "t2" } }), contactChanged],
  ["removing a tag", "updateContact", () => dispatch("click", `aria-label="Remove `), contactChanged],
  ["adding a note", "note", () => submitNote({ value: "new" }), contactChanged],
  ["reading the contact again", "contact", () => open.refreshContact(), contactChanged],
  ["reading the newest messages", "messages", () => open.refreshThread(), page],
  [
    "reading older messages",
    "messages",
    () => dispatch("scroll", `class="messages"`, { target: { scrollTop: 0 } }),
    page
  ],
  ["opening a conversation", "messages,contact,sends", () => selectConversation(anna.conversation as never), page]
]

for (const [what, names, act, response] of actions) {
  it(`the response of ${what} is shown, but dropped after a switch`, async () => {
    const contentAfter = async (switchConversation: () => void) => {
      resetState({ setup, ...anna })
      act()
      await vi.advanceTimersByTimeAsync(2000)
      assert.strictEqual(calls.map(({ name }) => name).join(), names)
      switchConversation()
      await respond(response)
      const { contact, conversation, messages, olderCursor } = state
      return { conversation, contact, messages, olderCursor }
    }
    assert.notDeepEqual<object>(await contentAfter(() => {}), anna)
    scrolledMessages.mockClear()
    assert.deepStrictEqual<object>(await contentAfter(switchToBen), ben)
    assert.lengthOf(scrolledMessages.mock.calls, 0)
  })
}

it("a closed conversation is reopened, and its late response is dropped after a switch", async () => {
  updateState({ conversation: { ...anna.conversation, status: "closed" } as never })
  dispatch("click", "Assigned to")
  assert.deepStrictEqual(requested(), [["reopen", { id }]])
  switchToBen()
  await respond(anna.conversation)
  assert.strictEqual(state.conversation?.id, ben.conversation.id)
})

it("a note stays in its field until it is added, and a note for another contact is kept", async () => {
  const note = { value: " Call back " }
  submitNote(note)
  assert.deepStrictEqual(requested(), [["note", { id: contact_id, text: "Call back" }]])
  await respond(new Error("The server is unavailable."))
  assert.strictEqual(note.value, " Call back ")
  submitNote(note)
  await respond(contactChanged)
  assert.strictEqual(note.value, "")
  note.value = "Call back"
  submitNote(note)
  switchToBen()
  note.value = "A note on Ben"
  await respond(contactChanged)
  assert.strictEqual(note.value, "A note on Ben")
})

it("a read of the contact that began before a note was added, and ends after it, keeps the note", async () => {
  const at = (second: number) => ({ updated_at: `2026-01-01T00:00:0${second}.000Z` })
  void open.openThread(anna.conversation as never)
  await vi.advanceTimersByTimeAsync(100)
  const reads = calls.splice(0)
  submitNote({ value: "new" })
  await respond({ ...anna.contact, notes: "new", ...at(1) })
  for (const read of reads) read.respond({ ...anna.contact, data: [], next_cursor: null, ...at(0) })
  await vi.advanceTimersByTimeAsync(100)
  assert.strictEqual(state.contact?.notes, "new")
})

it("a change of the contact is shown in another conversation of the same contact", async () => {
  const other = { ...anna.conversation, id: "another conversation of Anna" }
  submitNote({ value: "new" })
  updateState({ conversation: other as never, contact: null })
  await respond(contactChanged)
  assert.strictEqual(state.contact?.notes, "new")
})

it("the error of a late response is shown, and the open conversation stays", async () => {
  dispatch("click", "Assigned to")
  switchToBen()
  await respond(new Error("The server is unavailable."))
  assert.strictEqual(state.error, "The server is unavailable.")
  assert.deepStrictEqual(state.conversation?.id, ben.conversation.id)
})

it("a message goes to the conversation in which it was submitted, and its send is shown only there", async () => {
  field.value = " Hello Anna "
  submitReply()
  assert.deepStrictEqual(requested(), [
    ["send", { id, message: { type: "text", text: "Hello Anna" } }]
  ])
  switchToBen()
  field.value = "Hello Ben"
  await respond({ id: "s1", conversation_id: id, status: "queued" })
  assert.strictEqual(state.sentContents.get("s1")?.text, "Hello Anna")
  assert.lengthOf(state.unsent, 0)
  assert.deepStrictEqual([state.conversation?.id, field.value], [ben.conversation.id, "Hello Ben"])
  assert.lengthOf(scrolledMessages.mock.calls, 0)
})

it("a message that was not sent returns to the composer of its conversation only", async () => {
  const message = "The server is unavailable."
  const elsewhere = `The message to Anna was not sent. ${message}`
  const cases = [[() => {}, "Hello Anna", message, null], [switchToBen, "", null, elsewhere]] as const
  for (const [switchConversation, text, composerError, error] of cases) {
    resetState({ setup, ...anna })
    field.value = "Hello Anna"
    submitReply()
    assert.strictEqual(field.value, "")
    switchConversation()
    await respond(new Error(message))
    assert.deepStrictEqual([field.value, state.composerError, state.error], [text, composerError, error])
  }
})

it("an accepted message does not return to the composer if the read of its send fails", async () => {
  field.value = "Hello Anna"
  submitReply()
  await respond({ id: "s1", conversation_id: id, status: "queued" })
  await respond(new Error("The server is unavailable."))
  assert.deepStrictEqual([field.value, state.error, state.unsent.length], ["", "The server is unavailable.", 1])
})

const failedSend = {
  id: "s1",
  conversation_id: id,
  message_id: null,
  status: "failed",
  created_at: "2026-01-02T00:00:00.000Z"
} as const

it("a failed send is sent again once, with its message, if the reason allows it", async () => {
  const message = { type: "text", text: "Hello" } as const
  const sentContents = new Map([["s1", { message, text: "Hello" }]])
  updateState({ sentContents, unsent: [{ ...failedSend, failure_reason: "recipient_unreachable" }] })
  assert.throws(() => dispatch("click", "Send again"))
  updateState({ unsent: [{ ...failedSend, failure_reason: "rate_limited" }] })
  dispatch("click", "Send again")
  dispatch("click", "Send again")
  assert.deepStrictEqual(requested(), [["send", { id, message }]])
  await respond({ ...failedSend, id: "s2", status: "queued", failure_reason: null })
  await respond({ data: [], next_cursor: null })
  assert.throws(() => dispatch("click", "Send again"))
})

it("the text of a rejected message returns to the composer to be edited", () => {
  const message = { type: "text", text: " " } as const
  updateState({
    sentContents: new Map([["s1", { message, text: " " }]]),
    unsent: [{ ...failedSend, failure_reason: "provider_rejected" }]
  })
  dispatch("click", ">Edit<")
  assert.strictEqual(field.value, " ")
})

it("unsent sends are between the messages in the order of their time, and not before the first of several pages", () => {
  const texts = () => templatesIn(threadView()).filter(({ strings }) => strings.join("").includes("bubble")).length
  const unsent = ["2025-12-31T00:00:00.000Z", "2026-01-02T00:00:00.000Z"].map((created_at, index) =>
    ({ ...failedSend, id: `s${index}`, failure_reason: "rate_limited", created_at }) as const
  )
  updateState({ unsent })
  assert.strictEqual(texts(), 2)
  updateState({ olderCursor: null })
  assert.strictEqual(texts(), 3)
})

it("Enter submits the reply, and Shift+Enter does not", () => {
  const requestSubmit = vi.fn()
  const press = (shiftKey: boolean) =>
    dispatch("keydown", `aria-label="Message"`, {
      key: "Enter",
      shiftKey,
      isComposing: false,
      target: { form: { requestSubmit } }
    })
  press(true)
  assert.lengthOf(requestSubmit.mock.calls, 0)
  press(false)
  assert.lengthOf(requestSubmit.mock.calls, 1)
})

it("a message in the customer's name comes from the contact of its conversation", async () => {
  updateState({ writeAsCustomer: true })
  field.value = "Hello"
  submitReply()
  assert.deepStrictEqual(requested(), [
    ["writeAsCustomer", { channel_id: "phone", from: "+49 Anna", name: "Anna", text: "Hello" }]
  ])
})

it("a reply that was not submitted is removed by a switch, but not by opening its conversation again", () => {
  field.value = "Hello Anna"
  void selectConversation(anna.conversation as never)
  assert.strictEqual(field.value, "Hello Anna")
  switchToBen()
  assert.strictEqual(field.value, "")
})

it("the templates are not shown over another conversation", async () => {
  const openTemplates = () => dispatch("click", `type="button" class=`)
  openTemplates()
  switchToBen()
  await respond({ data: [] })
  assert.isNull(state.error)
  openTemplates()
  await respond({ data: [] })
  assert.strictEqual(state.error, "The channel has no approved templates that the console can send.")
})
