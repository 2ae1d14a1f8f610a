import type { WithResponse } from "./Attempt.ts"
import type { AssignConversation, CloseConversation, Conversation, Send, StartConversation } from "./Contract.ts"
import type { Pages } from "./Pages.ts"
import type { Query, RequestOptions, Transport } from "./Transport.ts"

/** `/conversations`: list, start, get, assign, close and reopen. */
export const conversations = ({ list, one }: Transport) => ({
  /** Lists conversations, the latest activity first. */
  list: (query: Query<"GET /conversations"> = {}, options?: RequestOptions): Pages<Conversation> =>
    list("GET /conversations", { query }, options),
  /** Queues a template for a phone number, in its conversation on the channel. Wait for the send with `sends.waitFor`. */
  start: (start: StartConversation, options?: RequestOptions): Promise<WithResponse<Send>> =>
    one("POST /conversations", { body: start }, options),
  /** Returns a conversation. */
  get: (conversation_id: string, options?: RequestOptions): Promise<WithResponse<Conversation>> =>
    one("GET /conversations/{conversation_id}", { path: { conversation_id } }, options),
  /** Assigns or unassigns a member. Assigning makes the member the contact's owner too, unless `sync_contact_owner` is false. */
  assign: (
    conversation_id: string,
    assignment: AssignConversation,
    options?: RequestOptions
  ): Promise<WithResponse<Conversation>> =>
    one("PATCH /conversations/{conversation_id}/assignment", { path: { conversation_id }, body: assignment }, options),
  /** Closes a conversation. Closing a closed one changes nothing. */
  close: (
    conversation_id: string,
    closing: CloseConversation = {},
    options?: RequestOptions
  ): Promise<WithResponse<Conversation>> =>
    one("POST /conversations/{conversation_id}/close", { path: { conversation_id }, body: closing }, options),
  /** Reopens a conversation. Reopening an open one changes nothing. */
  reopen: (conversation_id: string, options?: RequestOptions): Promise<WithResponse<Conversation>> =>
    one("POST /conversations/{conversation_id}/reopen", { path: { conversation_id } }, options)
})
