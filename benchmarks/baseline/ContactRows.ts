/** The columns of a contact, and its schema. */
import type { Row } from "./Database.ts"
import * as Schemas from "./Schemas.ts"

export const stages = [
  "subscriber",
  "lead",
  "marketing_qualified",
  "sales_qualified",
  "opportunity",
  "customer",
  "evangelist",
  "other"
] as const

const { plain, plainOrNull, text, textOrNull } = Schemas

export const Contact = Schemas.closedObject({
  id: plain,
  first_name: textOrNull,
  last_name: textOrNull,
  primary_email: textOrNull,
  primary_phone: plainOrNull,
  company: textOrNull,
  job_title: textOrNull,
  birthday: plainOrNull,
  city: textOrNull,
  region: textOrNull,
  country: textOrNull,
  street_address: textOrNull,
  postal_code: textOrNull,
  website_url: textOrNull,
  network_url: textOrNull,
  source: textOrNull,
  notes: textOrNull,
  owner_user_id: plainOrNull,
  lead_status: plainOrNull,
  lifecycle_stage: plainOrNull,
  custom_values: { type: "object", additionalProperties: text },
  identities: {
    type: "array",
    items: Schemas.closedObject({
      id: plain,
      channel_type: plain,
      external_id: text,
      display_name: textOrNull,
      username: textOrNull
    })
  },
  tags: { type: "array", items: Schemas.closedObject({ id: plain, name: text, color: plain }) },
  last_activity_at: plainOrNull,
  last_activity_preview: textOrNull,
  last_conversation_id: plainOrNull,
  updated_at: plain
})

export const columns = Object.keys(Contact.properties).map((column) => `c.${column}`).join(", ")

/** Returns the contact of a row with these columns. */
export const contactOf = (row: Row) => ({
  id: row[0],
  first_name: row[1],
  last_name: row[2],
  primary_email: row[3],
  primary_phone: row[4],
  company: row[5],
  job_title: row[6],
  birthday: row[7],
  city: row[8],
  region: row[9],
  country: row[10],
  street_address: row[11],
  postal_code: row[12],
  website_url: row[13],
  network_url: row[14],
  source: row[15],
  notes: row[16],
  owner_user_id: row[17],
  lead_status: row[18],
  lifecycle_stage: row[19],
  custom_values: row[20],
  identities: row[21],
  tags: row[22],
  last_activity_at: row[23],
  last_activity_preview: row[24],
  last_conversation_id: row[25],
  updated_at: row[26]
})
