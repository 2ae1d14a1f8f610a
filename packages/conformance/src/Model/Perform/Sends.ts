/** The commands of the model test about sends. */
import { ChannelId, SendId } from "@messaging-crm/core/Ids"
import { Phone } from "@messaging-crm/core/Phones"
import { SendMessage, Sends as SendOperations, StartConversation } from "@messaging-crm/core/Sends"
import { Effect } from "effect"
import { agree, agreeOnLists, agreeOnPages } from "../Agreement.ts"
import { choose, chooseConversation, secondsAgo } from "../Choices.ts"
import type { CommandHandlers } from "../CommandHandlers.ts"
import { ok, rejected, showSend } from "../Results.ts"
import * as Sends from "../Sends.ts"

const choiceOf = (template: string, value: string) => ({
  id: template === "unknown" ? template : "greeting",
  components: template === "greeting"
    ? [{ type: "body" as const, parameters: [{ type: "text" as const, text: value }] }]
    : []
})

export const sendHandlers = {
  start: (scene, { channel, phone, template, value }) =>
    Effect.gen(function*() {
      const { id, row } = choose(scene, channel, ({ channels }) => channels)
      const channel_id = ChannelId.make(id)
      const expected = Sends.start(scene.at, scene.ours, row, { phone, template, value })
      const start = SendOperations.use((sends) =>
        sends.start(
          StartConversation.make({ channel_id, phone: Phone.make(phone), template: choiceOf(template, value) })
        )
      )
      yield* agree(scene, expected, start)
      yield* agreeOnLists(scene, [])
    }),

  sendText: (scene, command) => {
    const { conversation, id } = chooseConversation(scene, command.id)
    const expected = Sends.sendText(scene.at, scene.ours, conversation, command.text)
    const input = SendMessage.make({ type: "text", text: command.text })
    return agree(scene, expected, SendOperations.use(({ send }) => send(id, input)))
  },

  sendTemplate: (scene, { id: choice, template, value }) => {
    const { conversation, id } = chooseConversation(scene, choice)
    const expected = Sends.sendTemplate(scene.at, scene.ours, conversation, { template, value })
    const input = { type: "template", template: choiceOf(template, value) } as const
    return agree(scene, expected, SendOperations.use(({ send }) => send(id, SendMessage.make(input))))
  },

  getSend: (scene, command) => {
    const { id, row } = choose(scene, command.id, ({ sends }) => sends)
    const expected = row === undefined ? rejected("SendNotFound") : ok(showSend(row))
    return agree(scene, expected, SendOperations.use(({ get }) => get(SendId.make(id))))
  },

  listSends: (scene, { conversation: choice, created_seconds_ago, page_size, status }) => {
    const chosen = choice && chooseConversation(scene, choice)
    const created_since = secondsAgo(scene, created_seconds_ago)
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
