// The state of the inbox before anything is read.

/**
 * @import { Contact, Conversation, Message, Send, SendMessage } from "@messaging-crm/client"
 * @import { ConversationQuery } from "./lists.mjs"
 * @import { NewestById } from "./waiting.mjs"
 * @typedef {{ readonly message: SendMessage | null, readonly text: string }} SentContent
 */

export const initialInbox = {
  /** @type {"all" | "closed" | "open"} */
  filter: "open",
  /**
   * The further filters of the list.
   *
   * @type {ConversationQuery}
   */
  query: {},
  /**
   * The contact whose conversations are listed.
   *
   * @type {{ readonly id: string, readonly name: string } | null}
   */
  chosenContact: null,
  /**
   * The contacts that a search has found, which are shown in place of the list.
   *
   * @type {ReadonlyArray<Contact> | null}
   */
  found: null,
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
   * The directions of the newest messages, by the IDs of their conversations, as far as they are known.
   *
   * @type {NewestById}
   */
  newest: new Map(),
  /**
   * The open conversation.
   *
   * @type {Conversation | null}
   */
  conversation: null,
  /**
   * The contact of the open conversation, or the one that is shown without a conversation.
   *
   * @type {Contact | null}
   */
  contact: null,
  /** @type {Array<Message>} */
  messages: [],
  /** @type {string | null} */
  olderCursor: null,
  /**
   * The sends of the open conversation that are not messages.
   *
   * @type {ReadonlyArray<Send>}
   */
  unsent: [],
  /**
   * The contents of the sends by this page. Of a send that was repeated, there is only the text.
   *
   * @type {ReadonlyMap<string, SentContent>}
   */
  sentContents: new Map(),
  /**
   * Why the message in the composer was not accepted, until it changes.
   *
   * @type {string | null}
   */
  composerError: null,
  /** @type {boolean} */
  writeAsCustomer: false
}
