// Sends messages in the open conversation.
import { showingErrors } from "../actions.mjs"
import { oneAtATime } from "../elements/throttle.mjs"
import { callOperation } from "../server.mjs"
import { state, updateState } from "../store.mjs"
import { announceEarlierFailure } from "./announcements.mjs"
import { isOpen, refreshThread } from "./openConversation.mjs"
import { scrollToEnd } from "./scroll.mjs"
import { openTemplateDialog } from "./templateDialog.mjs"
import { applySend } from "./unsent.mjs"

/** @import { Conversation, Send, SendMessage, StartConversation } from "@messaging-crm/client" */

const refreshShowingErrors = showingErrors(refreshThread)

/**
 * Shows an accepted send until its message exists, and stores its contents for a repetition.
 *
 * @param {Send} send
 * @param {SendMessage} message
 * @param {string} text
 */
const showSend = (send, message, text) => {
  updateState({ sentContents: new Map(state.sentContents).set(send.id, { message, text }) })
  applySend(send)
  announceEarlierFailure(send.id)
}

/**
 * Sends a message in a conversation.
 *
 * @param {Conversation} conversation
 * @param {SendMessage} message
 * @param {string} text
 */
export const sendMessage = async ({ id }, message, text) => {
  updateState({ error: null })
  showSend(await callOperation("send", { id, message }), message, text)
  if (!isOpen(id)) return
  scrollToEnd()
  // The send can settle before it is in the list. A failed read must not look like a failed send, which is repeated.
  await refreshShowingErrors()
}

/** Sends the message of a failed send again, as a new send. The failed one keeps its text. */
export const resend = showingErrors(
  oneAtATime(async (/** @type {Conversation} */ conversation, /** @type {string} */ send_id) => {
    const { message, text } = state.sentContents.get(send_id) ?? { message: null, text: "" }
    if (message === null) return
    await sendMessage(conversation, message, text)
    updateState({ sentContents: new Map(state.sentContents).set(send_id, { message: null, text }) })
  })
)

/**
 * Opens a dialog that sends a template in a conversation.
 *
 * @param {Conversation} conversation
 */
export const openTemplates = (conversation) =>
  openTemplateDialog({
    conversation,
    onSend: (template, text) => sendMessage(conversation, { type: "template", template }, text)
  })

/** Opens a dialog that starts a conversation with a template, and then shows the conversation. */
export const openConversationDialog = (phone = "") =>
  openTemplateDialog({
    phone,
    onSend: async (template, text, valueOf) => {
      /** @type {StartConversation} */
      const start = { channel_id: valueOf("channel_id"), phone: valueOf("phone"), template }
      const send = await callOperation("start", start)
      showSend(send, { type: "template", template }, text)
      location.hash = `#/inbox/${send.conversation_id}`
    }
  })
