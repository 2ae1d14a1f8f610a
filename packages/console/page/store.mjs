// The state of the page. A change draws the page again.
import { initialActivity } from "./development/initialActivity.mjs"
import { initialInbox } from "./inbox/initialInbox.mjs"

/** @import { Channel, Member, Tag } from "@messaging-crm/client" */

/** The state of the page before anything is read. */
const initialState = {
  /** @type {string} */
  view: "inbox",
  /**
   * The part of the inbox that a narrow page shows.
   *
   * @type {"contact" | "list" | "thread"}
   */
  pane: "list",
  /** @type {boolean} */
  isLive: false,
  /** @type {string | null} */
  error: null,
  /**
   * The text for screen readers about what has just happened.
   *
   * @type {string}
   */
  announcement: "",
  setup: {
    /** @type {ReadonlyArray<Channel>} */
    channels: [],
    /** @type {ReadonlyArray<Member>} */
    members: [],
    /** @type {ReadonlyArray<Tag>} */
    tags: []
  },

  ...initialInbox,
  ...initialActivity
}

/** The state that the page shows. Change it with `updateState`, so that the page is drawn again. */
export const state = { ...initialState }

/**
 * Sets the state before a test: the initial state with a change.
 *
 * @param {object} change
 */
export const resetState = (change = {}) => Object.assign(state, initialState, change)

/**
 * Returns whether a view is visible. A hidden one is not kept current.
 *
 * @param {string} view
 */
export const isVisible = (view) => state.view === view && !document.hidden

let draw = () => {}
let isScheduled = false

/**
 * Sets the function that `updateState` calls once for all changes of a frame.
 *
 * @param {() => void} callback
 */
export const drawPageWith = (callback) => {
  draw = callback
}

/**
 * Changes the state, and draws the page in the next frame.
 *
 * @param {Partial<typeof state>} change
 */
export const updateState = (change = {}) => {
  Object.assign(state, change)
  if (isScheduled) return
  isScheduled = true
  requestAnimationFrame(() => {
    isScheduled = false
    draw()
  })
}
