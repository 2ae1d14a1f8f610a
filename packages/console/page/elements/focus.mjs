// Keeps the focus where the user is when an element with the focus is removed.

const usable = "a[href], button:enabled, select, input, textarea, [tabindex='0']"

/**
 * Puts the focus into the first visible element of a part of the page that can have it.
 *
 * @param {Element} part
 */
const focusFirst = (part) => {
  /** @type {Array<HTMLElement>} */
  const elements = Array.from(part.querySelectorAll(usable))
  elements.find((element) => element.checkVisibility())?.focus()
}

/** Puts the focus into the list of conversations, or else into the first visible element of the view. */
const focusView = () => {
  const main = document.querySelector("main") ?? document.body
  const list = /** @type {HTMLElement | null} */ (main.querySelector(".conversations"))
  if (list?.checkVisibility() === true) list.focus()
  else focusFirst(main)
}

const isLost = () => document.activeElement === null || document.activeElement === document.body

/** Returns the element with the focus, and the elements around it. */
const focusPath = () => {
  /** @type {Array<HTMLElement>} */
  const path = []
  for (
    let element = document.activeElement;
    element instanceof HTMLElement && element !== document.body;
    element = element.parentElement
  ) path.push(element)
  return path
}

/** Returns a function that puts a lost focus back, or into the nearest part of the page that remains. */
export const rememberFocus = () => {
  const path = focusPath()
  return () => {
    const [element] = path
    if (element === undefined || !isLost()) return
    if (element.isConnected) return element.focus()
    const part = path.find(({ isConnected }) => isConnected)
    if (part === undefined) focusView()
    else focusFirst(part)
  }
}

/**
 * Draws the page. If this removes the element with the focus, the nearest part of the page that remains gets it.
 *
 * @param {() => void} draw
 */
export const drawAndKeepFocus = (draw) => {
  const restore = rememberFocus()
  draw()
  restore()
}
