/** An organization with all that a body can refer to, for tests of how operations read their input. */
import { CurrentActor } from "@messaging-crm/core/Actor"
import { ContactFields, CreateContactField } from "@messaging-crm/core/ContactFields"
import { Effect } from "effect"
import { idempotency, orderReady, type start } from "../testing/Service.ts"

/** Creates an organization with one resource of each kind that a body can refer to. */
export const makeOrganization = async (service: ReturnType<typeof start>) => {
  const ours = await service.organization()
  const { key, organization, owner } = ours
  const write = (method: string, path: string, json: unknown) =>
    service.request(method, `/v1${path}`, { key, json, ...idempotency() })
  const tag = (await write("POST", "/tags", { name: "VIP", color: "red" })).body.data
  const contact = (await write("POST", "/contacts", { first_name: "Kim" })).body.data
  const field = await service.runtime.runPromise(
    ContactFields.use((fields) =>
      fields.create(CreateContactField.make({ key: "plan", name: "Plan", type: "text", options: null }))
    ).pipe(
      Effect.provideService(CurrentActor, { organization_id: organization.id, member_id: owner.id })
    )
  )
  const template = orderReady(ours.channel)
  const phone = "+4915112345678"
  const started = await write("POST", "/conversations", { channel_id: ours.channel.id, phone, template })
  const conversation = `/conversations/${started.body.data.conversation_id}`
  return { ...ours, contact, conversation, field, phone, tag, template, write }
}
