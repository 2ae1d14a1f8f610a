import { WebhookReplayRows, WebhookReplayStore } from "@messaging-crm/core/WebhookReplays"
import { Layer } from "effect"
import * as Table from "../world/Table.ts"
import { World } from "../world/World.ts"

/** Layer that reads replays in the in-memory world. */
export const layer = Layer.effect(
  WebhookReplayStore,
  World.useSync(({ read }) =>
    WebhookReplayStore.of({
      find: (organization_id, webhook_id) =>
        read(({ tables }) => Table.get(tables, WebhookReplayRows, organization_id, webhook_id))
    })
  )
)
