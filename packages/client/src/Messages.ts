import type { WithResponse } from "./Attempt.ts"
import type { Message, Send, SendMessage } from "./Contract.ts"
import type { Pages } from "./Pages.ts"
import type { Query, RequestOptions, Transport } from "./Transport.ts"

/** `/conversations/{conversation_id}/messages`: list, get and send. */
export const messages = ({ list, one }: Transport) => ({
  /** Lists the messages of a conversation, the newest first. */
  list: (
    conversation_id: string,
    query: Query<"GET /conversations/{conversation_id}/messages"> = {},
    options?: RequestOptions
  ): Pages<Message> =>
    list("GET /conversations/{conversation_id}/messages", { path: { conversation_id }, query }, options),
  /** Returns a message of a conversation. */
  get: (conversation_id: string, message_id: string, options?: RequestOptions): Promise<WithResponse<Message>> =>
    one(
      "GET /conversations/{conversation_id}/messages/{message_id}",
      { path: { conversation_id, message_id } },
      options
    ),
  /** Queues a text within 24 hours of the contact's last message, or a template. Wait for it with `sends.waitFor`. */
  send: (conversation_id: string, message: SendMessage, options?: RequestOptions): Promise<WithResponse<Send>> =>
    one("POST /conversations/{conversation_id}/messages", { path: { conversation_id }, body: message }, options)
})
