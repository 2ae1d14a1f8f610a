import * as Changes from "@messaging-crm/core/Changes"

/** Events, as a commit writes them. */
export const EventRows = Changes.rows<Changes.RaisedEvent>()("events", ["id"], [])
