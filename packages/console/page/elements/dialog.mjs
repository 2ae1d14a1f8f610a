// The frame of all dialogs, and a field of several.
import { html, render } from "lit-html"
import { errorMessageOf } from "../actions.mjs"
import { clearFieldError, showFieldError } from "./fieldError.mjs"
import { rememberFocus } from "./focus.mjs"
import { networkName } from "./networks.mjs"
import { oneAtATime } from "./throttle.mjs"

/**
 * @import { Channel } from "@messaging-crm/client"
 * @import { TemplateResult } from "lit-html"
 * @typedef {(field: string) => string} ValueOf
 */

/**
 * The functions that return the focus when a dialog closes.
 *
 * @type {WeakMap<Element, () => void>}
 */
const returns = new WeakMap()

/** Returns the function that restores the focus when a new dialog closes: that of the dialog that opens it, if one does. */
const returnAfter = () => {
  const opener = document.activeElement?.closest("dialog")
  return (opener instanceof Element ? returns.get(opener) : undefined) ?? rememberFocus()
}

/**
 * Opens a dialog, which is removed when it closes. `run` receives a function that returns the value of a field. An error is
 * shown beside the field that it names, or else below all fields, until the input changes.
 *
 * @param {string} title
 * @param {{ readonly submit: string, readonly cancel?: string | null }} labels A dialog that only shows something has no
 *   button to cancel.
 * @param {(draw: () => void, valueOf: ValueOf) => TemplateResult} fields It is drawn again after each input.
 * @param {(valueOf: ValueOf) => Promise<unknown>} run
 */
export const openDialog = (title, { cancel = "Cancel", submit }, fields, run) => {
  const element = document.createElement("dialog")
  element.setAttribute("aria-label", title)
  const returnFocus = returnAfter()
  returns.set(element, returnFocus)
  document.body.append(element)
  let error = ""
  /** @returns {ValueOf} */
  const currentValues = () => {
    const values = new FormData(element.querySelector("form") ?? undefined)
    return (name) => String(values.get(name) ?? "")
  }
  const submitOnce = oneAtATime(async (/** @type {HTMLFormElement} */ form) => {
    try {
      await run(currentValues())
      element.close()
    } catch (failure) {
      clearFieldError(form)
      error = showFieldError(form, failure) ? "" : errorMessageOf(failure)
      draw()
    }
  })
  /** @param {Event & { target: HTMLFormElement }} event */
  const onSubmit = (event) => {
    event.preventDefault()
    void submitOnce(event.target)
  }
  const clearError = () => {
    const form = element.querySelector("form")
    if (form !== null) clearFieldError(form)
    error = ""
    draw()
  }
  const draw = () =>
    render(
      html`<form @input=${clearError} @submit=${onSubmit}><h2>${title}</h2>${fields(draw, currentValues())}
        ${error === "" ? "" : html`<p class="error" role="alert">${error}</p>`}
        <div class="actions">${
        cancel === null ? "" : html`<button type="button" @click=${() => element.close()}>${cancel}</button>`
      }<button class="primary">${submit}</button></div></form>`,
      element
    )
  element.addEventListener("close", () => {
    element.remove()
    returnFocus()
  })
  draw()
  element.showModal()
}

/**
 * Draws a field that selects one of the channels.
 *
 * @param {ReadonlyArray<Channel>} channels
 * @param {(id: string) => void} choose
 */
export const channelField = (channels, choose = () => {}) =>
  html`<label>Channel<select name="channel_id" @change=${(
    /** @type {Event & { target: HTMLSelectElement }} */ { target }
  ) => choose(target.value)}>${
    channels.map((channel) => html`<option value=${channel.id}>${channel.name} (${networkName(channel)})</option>`)
  }</select></label>`
