/** The operations that the page can request. Each calls the public REST API through the client, with the server's key. */
import type {
  MessagingCrm,
  NewWebhook,
  Query,
  SendMessage,
  StartConversation,
  UpdateContact,
  WebhookChange
} from "@messaging-crm/client"

/** A message that the console writes in a customer's name. */
export interface CustomerMessage {
  readonly channel_id: string
  /** The network's ID of the customer; on phone messaging the number. */
  readonly from: string
  readonly name: string | null
  readonly text: string
}

type Operation<Input> = (crm: MessagingCrm, input: Input) => Promise<unknown>

/** The ID of a resource. */
interface ById {
  readonly id: string
}

interface ContactChange extends ById {
  readonly changes: UpdateContact
  /** The `ETag` of the contact whose values the change replaces: nothing changes if the contact has changed since. */
  readonly etag?: string | null
}

/** The maximum number of conversations whose newest messages one call reads. */
const newest_messages_max = 20

/** The operations of the inbox. */
export const inbox = {
  setup: async (crm) => {
    const [channels, members, tags] = await Promise.all([
      crm.channels.list().page(),
      crm.members.list().page(),
      crm.tags.list().page()
    ])
    return { channels: channels.data, members: members.data, tags: tags.data }
  },
  templates: (crm) => crm.templates.list().page(),
  conversations: (crm, input: Query<"GET /conversations">) =>
    crm.conversations.list({ page_size: 100, ...input }).page(),
  conversation: (crm, { id }: ById) => crm.conversations.get(id),
  messages: (crm, { cursor, id }: ById & { readonly cursor?: string }) =>
    crm.messages.list(id, cursor === undefined ? {} : { cursor }).page(),
  newestMessages: (crm, { ids }: { readonly ids: ReadonlyArray<string> }) =>
    Promise.all(
      ids.slice(0, newest_messages_max).map(async (id) => {
        const { data: [message] } = await crm.messages.list(id).page()
        return { id, created_at: message?.created_at ?? null, direction: message?.direction ?? null }
      })
    ),
  send: (crm, { id, message }: ById & { readonly message: SendMessage }) => crm.messages.send(id, message),
  start: (crm, input: StartConversation) => crm.conversations.start(input),
  sends: (crm, { conversation_id }: { readonly conversation_id: string }) => crm.sends.list({ conversation_id }).page(),
  assign: (crm, { assigned_user_id, id }: ById & { readonly assigned_user_id: string | null }) =>
    crm.conversations.assign(id, { assigned_user_id }),
  close: (crm, { id }: ById) => crm.conversations.close(id),
  reopen: (crm, { id }: ById) => crm.conversations.reopen(id),
  contacts: (crm, { query }: { readonly query: string }) => crm.contacts.list({ query, page_size: 30 }).page(),
  contact: async (crm, { id }: ById) => {
    const contact = await crm.contacts.get(id)
    return { ...contact, etag: contact.lastResponse.etag }
  },
  updateContact: (crm, { changes, etag = null, id }: ContactChange) =>
    crm.contacts.update(id, changes, { ifMatch: etag }),
  note: (crm, { id, text }: { readonly id: string; readonly text: string }) => crm.contacts.addNote(id, { text })
} satisfies Readonly<Record<string, Operation<never>>>

/** The operations that only the console of a service in development has. */
export const development = {
  webhooks: (crm) => crm.webhooks.list().page(),
  createWebhook: (crm, input: NewWebhook) => crm.webhooks.create(input),
  updateWebhook: (crm, { change, id }: ById & { readonly change: WebhookChange }) => crm.webhooks.update(id, change),
  rotateSecret: (crm, { id }: ById) => crm.webhooks.rotateSecret(id),
  disableWebhook: (crm, { id }: ById) => crm.webhooks.disable(id),
  deliveries: (crm, { id }: ById) => crm.webhooks.deliveries(id).page(),
  retry: (crm, { id, webhook_id }: { readonly id: string; readonly webhook_id: string }) =>
    crm.webhooks.retry(webhook_id, id),
  testWebhook: (crm, { id }: ById) => crm.webhooks.test(id)
} satisfies Readonly<Record<string, Operation<never>>>

/** Returns the operation that only the console of a service with a simulated network has. */
export const simulated = (receive: (message: CustomerMessage) => Promise<void>) => ({
  writeAsCustomer: async (_: MessagingCrm, message: CustomerMessage) => {
    await receive(message)
    return {}
  }
})
