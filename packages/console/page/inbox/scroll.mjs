// Keeps the newest message of the open conversation visible.
import { state } from "../store.mjs"

const messagesElement = () => document.querySelector(".messages")

/** Whether the end of the messages was visible when they were last scrolled or drawn. */
let isAtEnd = true

/** Notes whether the end of the messages is visible. */
export const noteScroll = () => {
  const element = messagesElement()
  if (element !== null) isAtEnd = element.scrollHeight - element.scrollTop - element.clientHeight < 80
}

/** Scrolls to the end if the end was visible, such as after a picture is loaded. */
export const keepEnd = () => {
  const element = messagesElement()
  if (isAtEnd && element !== null) element.scrollTo(0, element.scrollHeight)
}

/** Scrolls to the end after the changes are drawn. */
export const scrollToEnd = () =>
  requestAnimationFrame(() =>
    requestAnimationFrame(() => {
      isAtEnd = true
      messagesElement()?.scrollTo(0, 1e9)
    })
  )

let drawnMessages = state.messages

/**
 * Draws the page. If the end of the messages was visible, it stays visible, or else the same messages do when older ones
 * were inserted before them.
 *
 * @param {() => void} draw
 */
export const drawAndScroll = (draw) => {
  const [before, after] = [drawnMessages, state.messages]
  drawnMessages = after
  const element = messagesElement()
  const fromEnd = element === null ? 0 : element.scrollHeight - element.scrollTop
  draw()
  const hasOlder = before !== after && after.findIndex(({ id }) => id === before[0]?.id) > 0
  if (hasOlder && !isAtEnd) element?.scrollTo(0, element.scrollHeight - fromEnd)
  else keepEnd()
}
