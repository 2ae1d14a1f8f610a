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
    ...Object.fromEntries(views.map((name, index) => [String(index + 1), () => showView(name)]))
  }
  addEventListener("keydown", (event) => {
    const isTyping = event.target instanceof Element && event.target.matches("input, textarea, select, dialog *")
    const run = keys[event.key]
    if (isTyping || event.ctrlKey || event.metaKey || event.altKey || run === undefined) return
    event.preventDefault()
    run()
  })
}
