// The state of the inbox before anything is read.

/** @import { Contact, Conversation, Message, Send } from "@messaging-crm/client" */

export const initialInbox = {
  /** @type {"all" | "closed" | "open"} */
  filter: "open",
  /** @type {ReadonlyArray<Conversation>} */
  conversations: [],
  /**
   * The cursor of the next page: undefined before the first page, null after the last.
   *
   * @type {string | null | undefined}
   */
  cursor: undefined,
  /** @type {boolean} */
  isLoading: false,
  /**
   * The IDs of conversations with a new message.
   *
   * @type {Set<string>}
   */
  unread: new Set(),
  /**
   * The open conversation.
   *
   * @type {Conversation | null}
   */
  conversation: null,
  /**
   * The contact of the open conversation.
   *
   * @type {Contact | null}
   */
  contact: null,
  /** @type {Array<Message>} */
  messages: [],
  /** @type {string | null} */
  olderCursor: null,
  /**
   * The accepted sends that are not messages yet.
   *
   * @type {Array<Send & { text: string }>}
   */
  pending: [],
  /** @type {boolean} */
  writeAsCustomer: false
}
