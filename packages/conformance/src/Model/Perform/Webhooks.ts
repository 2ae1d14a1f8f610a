/** The commands of the model test about webhooks. */
import { WebhookId } from "@messaging-crm/core/Ids"
import { WebhookDeliveries } from "@messaging-crm/core/WebhookDeliveries"
import { ReplayWebhook, WebhookReplays } from "@messaging-crm/core/WebhookReplays"
import { CreateWebhook, UpdateWebhook, Webhooks } from "@messaging-crm/core/Webhooks"
import { Effect } from "effect"
import { agree, agreeOnEvents } from "../Agreement.ts"
import { choose, secondsAgo } from "../Choices.ts"
import type { CommandHandlers } from "../CommandHandlers.ts"
import * as Events from "../Events.ts"

export const webhookHandlers = {
  createWebhook: (scene, { event_types, include_resource }) => {
    const url = `https://w${scene.ours.webhooks.length}.${scene.ours.id}.shop.example/`
    const subscription = { event_types, include_resource }
    const create = Webhooks.use((webhooks) => webhooks.create(CreateWebhook.make({ url, ...subscription })))
    const withoutSecret = Effect.map(create, ({ signing_secret: _signing_secret, ...webhook }) => webhook)
    return agree(scene, Events.createWebhook(scene.ours, url, subscription), withoutSecret)
  },

  updateWebhook: (scene, { event_types, id: chosen, include_resource, moves }) => {
    const { id, row } = choose(scene, chosen, ({ webhooks }) => webhooks)
    const url = moves ? `${row?.url ?? "https://shop.example/"}x` : row?.url
    const set = {
      ...(event_types === null ? {} : { event_types }),
      ...(include_resource === null ? {} : { include_resource }),
      ...(url === undefined ? {} : { url })
    }
    return agree(
      scene,
      Events.updateWebhook(row, set),
      Webhooks.use(({ update }) => update(WebhookId.make(id), UpdateWebhook.make(set)))
    )
  },

  rotateSecret: (scene, command) => {
    const { id, row } = choose(scene, command.id, ({ webhooks }) => webhooks)
    const rotate = Webhooks.use((webhooks) => webhooks.rotateSecret(WebhookId.make(id)))
    const withoutSecret = Effect.map(rotate, ({ signing_secret: _signing_secret, ...webhook }) => webhook)
    return agree(scene, Events.rotateSecret(scene.ours, row), withoutSecret)
  },

  testWebhook: (scene, command) => {
    const { id, row } = choose(scene, command.id, ({ webhooks }) => webhooks)
    const test = WebhookDeliveries.use((deliveries) => deliveries.test(WebhookId.make(id)))
    const state = Effect.map(test, ({ event_type, status }) => ({ event_type, status }))
    return agree(scene, Events.testWebhook(scene.ours, row), state)
  },

  replayWebhook: (scene, command) => {
    const { id, row } = choose(scene, command.id, ({ webhooks }) => webhooks)
    const since = secondsAgo(scene, command.since_seconds_ago)
    const start = WebhookReplays.use((replays) => replays.start(WebhookId.make(id), ReplayWebhook.make({ since })))
    return agree(scene, Events.replayWebhook(scene.ours, row, since), start)
  },

  disableWebhook: (scene, command) =>
    Effect.gen(function*() {
      const { id, row } = choose(scene, command.id, ({ webhooks }) => webhooks)
      const disable = Webhooks.use((webhooks) => webhooks.disable(WebhookId.make(id)))
      yield* agree(scene, Events.disableWebhook(scene.ours, row), disable)
      yield* agreeOnEvents(scene)
    })
} satisfies Partial<CommandHandlers>
