import { toWebhook, WebhookRows, WebhookStore } from "@messaging-crm/core/Webhooks"
import { Layer, Option, Result } from "effect"
import { apply } from "../work/Commit.ts"
import { sealedOtherwise } from "../work/SealedSecrets.ts"
import { newest } from "../world/Order.ts"
import * as Table from "../world/Table.ts"
import { World } from "../world/World.ts"

/** Layer that keeps webhooks in the in-memory world. */
export const layer = Layer.effect(
  WebhookStore,
  World.useSync(({ modify, read }) =>
    WebhookStore.of({
      list: (organization_id, filters, limit) =>
        read(({ tables }) =>
          newest(
            Table.all(tables, WebhookRows, organization_id)
              .filter(({ status }) => filters.status === null || status === filters.status),
            limit
          ).map(toWebhook)
        ),
      countActive: (organization_id) =>
        read(({ tables }) =>
          Table.all(tables, WebhookRows, organization_id).filter(({ status }) => status === "active").length
        ),
      sealedOtherwise: (prefix, after, limit) =>
        read(({ tables }) => {
          const secrets = Table.allOfEveryOwner(tables, WebhookRows)
            .filter(({ row }) => row.status === "active")
            .map(({ organization_id, row: { id, sealed_secret } }) => ({ organization_id, id, sealed_secret }))
          return sealedOtherwise(secrets, prefix, after, limit)
        }),
      reseal: (organization_id, id, before, sealed_secret) =>
        modify((state) => {
          const webhook = Table.get(state.tables, WebhookRows, organization_id, id)
          if (Option.isNone(webhook) || webhook.value.sealed_secret !== before) return [undefined, state]
          const changes = WebhookRows.update(webhook.value, { sealed_secret })
          return [undefined, Result.getOrThrow(apply(state, organization_id, changes, null))]
        })
    })
  )
)
