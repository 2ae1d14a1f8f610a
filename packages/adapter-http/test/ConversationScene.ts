/** The start of a conversation by a template, and its send. */
import { idempotency, type start } from "../testing/Service.ts"

type Service = ReturnType<typeof start>
export type Organization = Awaited<ReturnType<Service["organization"]>>

export const text = (value: string) => ({ type: "text", text: value })

export const greeting = ({ channel }: Organization) => ({
  id: `${channel.phone_messaging_business_account_id}.order_ready`,
  components: [
    { type: "header", parameters: [text("7")] },
    { type: "body", parameters: [text("Kim"), text("{{1}}")] },
    { type: "button", sub_type: "url", index: "0", parameters: [text("7")] }
  ]
})

/** Returns functions that start a conversation by a template, and that wait for a status of a send. */
export const conversationsOf = (service: Service) => {
  const startWith = (ours: Organization, json: Record<string, unknown> = {}) =>
    service.request("POST", "/v1/conversations", {
      key: ours.key,
      json: { channel_id: ours.channel.id, phone: "+49 151 12345678", template: greeting(ours), ...json },
      ...idempotency()
    })

  /** Waits until a send has a status, and returns it. */
  const follow = async ({ key }: Organization, id: string, status: string) => {
    const get = () => service.request("GET", `/v1/sends/${id}`, { key })
    await service.until(async () => (await get()).body.data.status === status)
    return (await get()).body.data
  }

  return { follow, startWith }
}
