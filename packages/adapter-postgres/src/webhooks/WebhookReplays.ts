import { WebhookReplay, WebhookReplayStore } from "@messaging-crm/core/WebhookReplays"
import { Layer, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { At, columnsOf } from "../database/Columns.ts"
import { first } from "../database/Rows.ts"

const Row = Schema.Struct({
  ...WebhookReplay.fields,
  since: At,
  created_at: At,
  position_at: At,
  position_id: Schema.String,
  version: Schema.Int
})

const replay = first(Row)

/** Layer that reads replays in PostgreSQL. */
export const layer = Layer.effect(
  WebhookReplayStore,
  SqlClient.SqlClient.useSync((sql) =>
    WebhookReplayStore.of({
      find: (organization_id, webhook_id) =>
        replay(sql`
          SELECT ${sql.literal(columnsOf(Row))}
          FROM webhook_replays
          WHERE organization_id = ${organization_id} AND webhook_id = ${webhook_id}
        `)
    })
  )
)
