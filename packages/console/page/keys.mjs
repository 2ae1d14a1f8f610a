// The keyboard shortcuts: a number for each view, and letters for the actions of the inbox.
import { focusComposer } from "./inbox/composer.mjs"
import { moveSelection } from "./inbox/conversationList.mjs"
import { state } from "./store.mjs"

/** @param {() => void} run */
const inInbox = (run) => () => state.view === "inbox" && run()

/** @param {string} view */
const showView = (view) => {
  location.hash = `#/${view}`
}

const focusList = () => /** @type {HTMLElement | null} */ (document.querySelector(".conversations"))?.focus()

/** Returns from the contact to the conversation, or from the conversation to the list. */
const goBack = () => {
  const { conversation, pane } = state
  if (pane !== "contact" || conversation === null) focusList()
  location.hash = pane === "contact" && conversation !== null ? `#/inbox/${conversation.id}` : "#/inbox"
}

/** Puts the focus into the shown part of a narrow page, because the focused element can be in a hidden part. */
export const focusShownPane = () => {
  const { activeElement } = document
  if (activeElement !== null && activeElement !== document.body && activeElement.checkVisibility()) return
  /** @type {NodeListOf<HTMLElement>} */
  const targets = document.querySelectorAll(".back, .conversations")
  Array.from(targets).find((target) => target.checkVisibility())?.focus()
}

/**
 * Listens to the keys, unless the user is typing. The views have the keys from 1 on, in their order.
 *
 * @param {ReadonlyArray<string>} views
 */
export const listenToKeys = (views) => {
  /** @type {Readonly<Record<string, () => void>>} */
  const keys = {
    j: inInbox(() => moveSelection(1)),
    k: inInbox(() => moveSelection(-1)),
    r: inInbox(() => focusComposer(false)),
    c: inInbox(() => focusComposer(true)),
    Escape: inInbox(goBack),
    ...Object.fromEntries(views.map((name, index) => [String(index + 1), () => showView(name)]))
  }
  addEventListener("keydown", (event) => {
    const isTyping = event.target instanceof Element &&
      event.target.matches("input, textarea, select, dialog, dialog *")
    const run = keys[event.key]
    if (isTyping || event.ctrlKey || event.metaKey || event.altKey || run === undefined) return
    event.preventDefault()
    run()
  })
}
