// The frame of all dialogs, and a field of several.
import { html, render } from "lit-html"
import { errorMessageOf } from "../actions.mjs"
import { channelName } from "./formats.mjs"
import { oneAtATime } from "./throttle.mjs"

/**
 * @import { Channel } from "@messaging-crm/client"
 * @import { TemplateResult } from "lit-html"
 * @typedef {(field: string) => string} ValueOf
 */

/**
 * Opens a dialog, which is removed when it closes. `run` receives a function that returns the value of a field.
 *
 * @param {string} title
 * @param {string} submitLabel
 * @param {(draw: () => void) => TemplateResult} fields
 * @param {(valueOf: ValueOf) => Promise<unknown>} run
 */
export const openDialog = (title, submitLabel, fields, run) => {
  const element = document.createElement("dialog")
  element.setAttribute("aria-label", title)
  document.body.append(element)
  let error = ""
  const submitOnce = oneAtATime(async (/** @type {HTMLFormElement} */ form) => {
    const values = new FormData(form)
    try {
      await run((name) => String(values.get(name) ?? ""))
      element.close()
    } catch (failure) {
      error = errorMessageOf(failure)
      draw()
    }
  })
  /** @param {Event & { target: HTMLFormElement }} event */
  const onSubmit = (event) => {
    event.preventDefault()
    void submitOnce(event.target)
  }
  const clearError = () => {
    error = ""
    draw()
  }
  const draw = () =>
    render(
      html`<form @input=${clearError} @submit=${onSubmit}><h2>${title}</h2>${fields(draw)}
        ${error === "" ? "" : html`<p class="error" role="alert">${error}</p>`}
        <div class="actions"><button type="button" @click=${() => element.close()}>Cancel</button>
          <button class="primary">${submitLabel}</button></div></form>`,
      element
    )
  element.addEventListener("close", () => element.remove())
  draw()
  element.showModal()
}

/**
 * Draws a field that selects one of the channels.
 *
 * @param {ReadonlyArray<Channel>} channels
 */
export const channelField = (channels) =>
  html`<label>Channel<select name="channel_id">${
    channels.map((channel) => html`<option value=${channel.id}>${channel.name} (${channelName[channel.type]})</option>`)
  }</select></label>`
