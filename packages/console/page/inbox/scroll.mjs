// Keeps the newest message of the open conversation visible.
import { state } from "../store.mjs"

const messagesElement = () => document.querySelector(".messages")

/** Whether the end of the messages was visible when they were last scrolled or drawn. */
let isAtEnd = true

/** The position after the last scrolling. */
let lastTop = 0

/**
 * Notes whether the end of the messages is visible. Only scrolling up leaves the end: the list can also become smaller
 * before a scroll event arrives.
 */
export const noteScroll = () => {
  const element = messagesElement()
  if (element === null) return
  const { clientHeight, scrollHeight, scrollTop } = element
  if (scrollHeight - scrollTop - clientHeight < 80) isAtEnd = true
  else if (scrollTop < lastTop) isAtEnd = false
  lastTop = scrollTop
}

/** Scrolls to the end if the end was visible, such as after a picture is loaded. */
export const keepEnd = () => {
  const element = messagesElement()
  if (!isAtEnd || element === null) return
  element.scrollTo(0, element.scrollHeight)
  lastTop = element.scrollTop
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
