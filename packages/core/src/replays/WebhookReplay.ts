/** A webhook replay: which stored events are posted to a webhook again (contract §14.18). */
import { Schema } from "effect"
import { WebhookId, WebhookReplayId } from "../kernel/Ids.ts"
import { RequestTime, Timestamp } from "../kernel/Timestamps.ts"
import * as Changes from "../work/Changes.ts"
import { declareRows, type Row } from "../work/Rows.ts"

// ---------------------------------------------------------------- data

export const WebhookReplay = Schema.Struct({
  id: WebhookReplayId,
  webhook_id: WebhookId,
  since: Timestamp.pipe(
    Schema.annotateEncoded({ description: "Events raised at this time or later are posted again." })
  ),
  created_at: Timestamp.pipe(
    Schema.annotateEncoded({
      description: "The time of the request. Events raised at this time or later are not part of the replay."
    })
  )
}).annotate({ identifier: "WebhookReplay", description: "Stored events that are posted to a webhook again." })
export interface WebhookReplay extends Schema.Schema.Type<typeof WebhookReplay> {}

export const ReplayWebhook = Schema.Struct({
  since: RequestTime.pipe(Schema.annotateEncoded({
    description: "Events raised at this time or later are posted again. The time must be within the last 30 days."
  }))
}).annotate({ identifier: "ReplayWebhook" }).pipe(Schema.brand("ReplayWebhook"))
export interface ReplayWebhook extends Schema.Schema.Type<typeof ReplayWebhook> {}

/** The columns of a replay, which continues with the event after the position. */
export const WebhookReplayColumns = Schema.Struct({
  ...WebhookReplay.fields,
  position_at: Timestamp,
  position_id: Schema.String
})
export interface WebhookReplayColumns extends Schema.Schema.Type<typeof WebhookReplayColumns> {}

export type WebhookReplayRow = Row<WebhookReplayColumns>

export const WebhookReplayRows = Changes.removable(
  declareRows(WebhookReplayColumns)({
    name: "webhook_replays",
    key: { webhook_id: "uuid" },
    list: { order: ["created_at", "webhook_id"] }
  })
)

// -------------------------------------------------------------- errors

/** `since` is in the future, or so long ago that events raised at that time have been deleted. */
export class SinceOutOfRange extends Schema.TaggedError<SinceOutOfRange>()("SinceOutOfRange", {}) {}

/** A replay of the webhook has not ended. */
export class ReplayInProgress extends Schema.TaggedError<ReplayInProgress>()("ReplayInProgress", {}) {}
