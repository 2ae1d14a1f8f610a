import * as Changes from "@messaging-crm/core/Changes"

/** The table of events. */
export const EventRows = Changes.rows<Changes.RaisedEvent>()("events", ["id"], [])
