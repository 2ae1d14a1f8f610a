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
      username: textOrNull,
      marketing_opt_out_at: plainOrNull,
      marketing_opt_in_at: plainOrNull
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
export const contactOf = ([
  id,
  first_name,
  last_name,
  primary_email,
  primary_phone,
  company,
  job_title,
  birthday,
  city,
  region,
  country,
  street_address,
  postal_code,
  website_url,
  network_url,
  source,
  notes,
  owner_user_id,
  lead_status,
  lifecycle_stage,
  custom_values,
  identities,
  tags,
  last_activity_at,
  last_activity_preview,
  last_conversation_id,
  updated_at
]: Row) => ({
  id,
  first_name,
  last_name,
  primary_email,
  primary_phone,
  company,
  job_title,
  birthday,
  city,
  region,
  country,
  street_address,
  postal_code,
  website_url,
  network_url,
  source,
  notes,
  owner_user_id,
  lead_status,
  lifecycle_stage,
  custom_values,
  identities,
  tags,
  last_activity_at,
  last_activity_preview,
  last_conversation_id,
  updated_at
})
