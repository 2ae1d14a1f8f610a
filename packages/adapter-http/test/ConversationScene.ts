/** The start of a conversation by a template, and its send. */
import { idempotency, orderReady, type start } from "../testing/Service.ts"

type Service = ReturnType<typeof start>
export type Organization = Awaited<ReturnType<Service["organization"]>>

/** Returns functions that start a conversation by a template, and that wait for a status of a send. */
export const conversationsOf = (service: Service) => {
  const startWith = (ours: Organization, json: Record<string, unknown> = {}) =>
    service.request("POST", "/v1/conversations", {
      key: ours.key,
      json: { channel_id: ours.channel.id, phone: "+49 151 12345678", template: orderReady(ours.channel), ...json },
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
