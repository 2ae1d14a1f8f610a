/** Updating a contact. */
import type { FastifyInstance } from "fastify"
import { stages } from "./ContactRows.ts"
import type { Query } from "./Database.ts"
import * as Idempotency from "./Idempotency.ts"
import * as Schemas from "./Schemas.ts"

const update = {
  name: "update_contact",
  text: "SELECT status, body FROM update_contact($1, $2, $3, $4, $5, $6, $7)"
}

const line = { type: "string", maxLength: 200, nullable: true } as const
const url = { type: "string", maxLength: 2048, pattern: "^(https?://[^\\s]+)?$", nullable: true } as const

const leadStatuses = [
  "new",
  "open",
  "in_progress",
  "open_deal",
  "unqualified",
  "attempted_to_contact",
  "connected",
  "bad_timing",
  null
]

const Patch = Schemas.request({
  first_name: line,
  last_name: line,
  primary_email: { ...line, pattern: "^([^\\s@]+@[^\\s@.]+(\\.[^\\s@.]+)+)?$" },
  primary_phone: { ...line, pattern: "^(\\+[1-9][0-9]{6,14})?$" },
  company: line,
  job_title: line,
  birthday: { type: "string", format: "date", nullable: true },
  city: line,
  region: line,
  country: line,
  street_address: line,
  postal_code: line,
  website_url: url,
  network_url: url,
  source: line,
  notes: { type: "string", maxLength: 200_000, nullable: true },
  owner_user_id: { ...Schemas.uuid, nullable: true },
  lead_status: { type: "string", nullable: true, enum: leadStatuses },
  lifecycle_stage: { type: "string", nullable: true, enum: [...stages, null] },
  custom_values: {
    type: "object",
    propertyNames: { pattern: Schemas.uuid.pattern },
    additionalProperties: { type: "string", maxLength: 1000, nullable: true }
  },
  tag_ids: { type: "array", maxItems: 30, items: Schemas.uuid }
})

type Patch = Readonly<Record<string, unknown>> & { readonly tag_ids?: ReadonlyArray<string> }

/** Trims every text. A blank text becomes null. */
const trimmed = (patch: Omit<Patch, "tag_ids">): string =>
  JSON.stringify(patch, (_, value: unknown) => typeof value === "string" ? value.trim() || null : value)

export const routes = (app: FastifyInstance, query: Query): void => {
  const { reject, write } = Idempotency.make(query)

  app.patch<{ Params: { contact_id: string }; Body: Patch }>("/contacts/:contact_id", {
    config: { scope: "contacts:write" },
    attachValidation: true,
    schema: {
      params: Schemas.request({ contact_id: Schemas.uuid }),
      querystring: Schemas.request({}),
      body: Patch
    }
  }, async (request, reply) => {
    if (request.validationError) return reject(request, reply, request.validationError)
    const { tag_ids, ...patch } = request.body
    const tags = tag_ids === undefined ? null : [...new Set(tag_ids.map((id) => id.toLowerCase()))]
    return write(request, reply, update, [request.params.contact_id, trimmed(patch), tags])
  })
}
