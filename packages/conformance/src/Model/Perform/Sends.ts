/** The commands of the model test about sends. */
import { ChannelId, SendId } from "@messaging-crm/core/Ids"
import { Phone } from "@messaging-crm/core/Phones"
import { SendMessage, Sends as SendOperations, StartConversation } from "@messaging-crm/core/Sends"
import { Effect } from "effect"
import { greetingWith } from "../../Provider.ts"
import { agree, agreeOnLists, agreeOnPages } from "../Agreement.ts"
import { choose, chooseConversation, secondsAgo } from "../Choices.ts"
import type { CommandHandlers } from "../CommandHandlers.ts"
import { ok, rejected, showSend } from "../Results.ts"
import * as Sends from "../Sends.ts"

/** Returns the template that a command names, as a request contains it. */
const templateOf = (template: string, value: string) =>
  template === "greeting"
    ? greetingWith(value)
    : { id: template === "unknown" ? template : "greeting", components: [] }

export const sendHandlers = {
  start: (scene, { channel, phone, template, value }) =>
    Effect.gen(function*() {
      const { id, row } = choose(scene, channel, ({ channels }) => channels)
      const channel_id = ChannelId.make(id)
      const expected = Sends.start(scene.ours, row, { phone, template, value })
      const start = SendOperations.use((sends) =>
        sends.start(
          StartConversation.make({ channel_id, phone: Phone.make(phone), template: templateOf(template, value) })
        )
      )
      yield* agree(scene, expected, start)
      yield* agreeOnLists(scene, [])
    }),

  sendText: (scene, command) => {
    const { conversation, id } = chooseConversation(scene, command.id)
    const expected = Sends.sendText(scene.ours, conversation, command.text)
    const input = SendMessage.make({ type: "text", text: command.text })
    return agree(scene, expected, SendOperations.use(({ send }) => send(id, input)))
  },

  sendTemplate: (scene, { id: choice, template, value }) => {
    const { conversation, id } = chooseConversation(scene, choice)
    const expected = Sends.sendTemplate(scene.ours, conversation, { template, value })
    const input = { type: "template", template: templateOf(template, value) } as const
    return agree(scene, expected, SendOperations.use(({ send }) => send(id, SendMessage.make(input))))
  },

  getSend: (scene, command) => {
    const { id, row } = choose(scene, command.id, ({ sends }) => sends)
    const expected = row === undefined ? rejected("SendNotFound") : ok(showSend(row))
    return agree(scene, expected, SendOperations.use(({ get }) => get(SendId.make(id))))
  },

  listSends: (scene, { conversation: choice, created_seconds_ago, page_size, status }) => {
    const chosen = choice && chooseConversation(scene, choice)
    const created_since = created_seconds_ago === null ? null : secondsAgo(scene, created_seconds_ago)
    const expected = Sends.listSends(scene.ours, {
      status,
      conversation: chosen && (chosen.conversation ?? "unknown"),
      created_since
    })
    const filters = { status, conversation_id: chosen && chosen.id, created_since }
    return agreeOnPages(
      scene,
      page_size,
      expected,
      (cursor) => SendOperations.use(({ list }) => list({ ...filters, cursor, page_size }))
    )
  }
} satisfies Partial<CommandHandlers>
