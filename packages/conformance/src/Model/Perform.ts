/** Runs each command on the service and on the model, whose results must be equal. */
import { assert } from "@effect/vitest"
import type { OutboundMessage } from "@messaging-crm/core/MessagingProvider"
import { Worker } from "@messaging-crm/core/Worker"
import { DateTime, Effect } from "effect"
import { TestClock } from "effect/testing"
import { ScriptedProvider } from "../Provider.ts"
import { agreeOnCatalogs, agreeOnEvents, agreeOnLists } from "./Agreement.ts"
import type { CommandHandlers } from "./CommandHandlers.ts"
import type { Command } from "./Commands.ts"
import { assertSame } from "./Differences.ts"
import * as Events from "./Events.ts"
import { type ModelScene, swapped } from "./ModelScene.ts"
import { contactHandlers } from "./Perform/Contacts.ts"
import { conversationHandlers } from "./Perform/Conversations.ts"
import { inboundHandlers } from "./Perform/Inbound.ts"
import { sendHandlers } from "./Perform/Sends.ts"
import { webhookHandlers } from "./Perform/Webhooks.ts"
import * as Sends from "./Sends.ts"

/** Gives the model the time of the clock. */
const setTime = ({ ours, theirs }: ModelScene) =>
  Effect.map(DateTime.now, (now) => {
    for (const organization of [ours, theirs]) organization.now = now
  })

/** Attempts sends in the model, in the order of the provider's calls. */
const attemptSends = ({ names, ours, theirs }: ModelScene, calls: ReadonlyArray<OutboundMessage>) => {
  const organizations = [ours, theirs]
  for (const { channel, content, recipient, reference } of calls) {
    const organization = organizations.find(({ channels }) => channels.some(({ id }) => id === channel.id))
    // An earlier run that failed may have left work in the queue.
    if (organization === undefined) continue
    const send = Sends.due(organization).find(({ id }) => names.idOf(id) === reference)
    if (send === undefined) return assert.fail(`It was not the turn of send ${reference}.`)
    assertSame([recipient, content.type, content.text], [
      send.recipient,
      send.content.type,
      send.content.text
    ])
    Sends.attempt(organization, send)
  }
  assertSame(organizations.flatMap(Sends.due), [])
}

/** Lets time pass and the worker do what is due. Then the model does the same. */
const work = Effect.fnUntraced(function*(scene: ModelScene, { after_millis }: { readonly after_millis: number }) {
  const { ours, theirs } = scene
  yield* TestClock.adjust(after_millis)
  yield* setTime(scene)
  const provider = yield* ScriptedProvider
  const before = (yield* provider.received).length
  while ((yield* Worker.use(({ runOnce }) => runOnce)) > 0) continue
  attemptSends(scene, (yield* provider.received).slice(before))
  for (const organization of [ours, theirs]) {
    Sends.expireOutcome(organization)
    Events.post(organization)
  }
  yield* agreeOnLists(scene, ours.conversations)
  yield* agreeOnLists(swapped(scene), theirs.conversations)
  yield* agreeOnEvents(scene)
  yield* agreeOnEvents(swapped(scene))
})

/** Makes the provider accept everything, and lets time pass until every send has ended. */
export const finishSends = Effect.fnUntraced(function*(scene: ModelScene) {
  const organizations = [scene.ours, scene.theirs]
  for (const organization of organizations) organization.behavior = "accepts"
  yield* work(scene, { after_millis: 900_000 })
  yield* agreeOnCatalogs(scene)
  yield* agreeOnCatalogs(swapped(scene))
  const ended = organizations.flatMap(({ sends }) =>
    sends.map(({ status }) => status === "sent" || status === "failed")
  )
  assert.notInclude(ended, false)
})

const handlers: CommandHandlers = {
  wait: (_, { millis }) => TestClock.adjust(millis),

  listCatalogs: agreeOnCatalogs,

  work,

  setBehavior: ({ ours }, { behavior }) =>
    Effect.sync(() => {
      ours.behavior = behavior
    }),

  ...contactHandlers,

  ...conversationHandlers,

  ...sendHandlers,

  ...inboundHandlers,

  ...webhookHandlers
}

/** Runs one command on the service and on the model. */
export const perform = Effect.fnUntraced(function*(scene: ModelScene, command: Command) {
  // The compiler cannot see that the handler of a command's name accepts that command.
  const handle = handlers[command.do] as (scene: ModelScene, command: Command) => ReturnType<CommandHandlers["work"]>
  yield* setTime(scene)
  yield* handle(scene, command)
})
