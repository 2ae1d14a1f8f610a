import type { RaisedEvent } from "@messaging-crm/core/Changes"
import * as Table from "../world/Table.ts"

/** The table of events. */
export const EventRows = Table.own<RaisedEvent>("events")("id")
