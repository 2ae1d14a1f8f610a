// With services from openapi-typescript-codegen, whose imports require CommonJS.
import * as assert from "node:assert/strict"
import { ApiError, ContactsService, OpenAPI } from "./generated/index.js"

const { API_KEY = "", BASE_URL = "" } = process.env
OpenAPI.BASE = BASE_URL
OpenAPI.TOKEN = API_KEY

const main = async () => {
  const { data: contact } = await ContactsService.createContact({
    idempotencyKey: "signup-4713",
    requestBody: { first_name: "Ida", primary_phone: "+49 151 11111113", lead_status: null, tag_ids: [] }
  })
  assert.equal(contact.primary_phone, "+4915111111113")

  const found = await ContactsService.listContacts({ query: "ida", updatedSince: "2026-01-01T00:00:00+01:00" })
  assert.ok(found.data.some(({ id }) => id === contact.id))

  const rejected: unknown = await ContactsService.createContact({ idempotencyKey: "signup-4714", requestBody: {} })
    .catch(
      (error: unknown) => error
    )
  assert.ok(rejected instanceof ApiError)
  assert.deepEqual([rejected.status, rejected.body.error.code], [400, "invalid_input"])
  console.log("openapi-typescript-codegen:", contact.first_name, rejected.body.error.param)
}

void main()
