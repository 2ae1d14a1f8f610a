// The error of a field, beside the field that it names.
import { OperationError } from "../server.mjs"

const error_id = "field-error"

/**
 * Returns the message of an error with the label of its field in place of the API's name.
 *
 * @param {{ readonly message: string, readonly param: string }} error
 * @param {string} label
 */
export const messageWithLabel = ({ message, param }, label) =>
  label !== "" && message.startsWith(`${param} `) ? `${label}${message.slice(param.length)}` : message

/**
 * Returns the first text of an element.
 *
 * @param {Element | null} part
 */
const textOf = (part) => {
  const texts = Array.from(part?.childNodes ?? []).filter(({ nodeType }) => nodeType === Node.TEXT_NODE)
  return texts.map(({ textContent }) => textContent?.trim() ?? "").find((text) => text !== "") ?? ""
}

/**
 * Shows an error beside the field that it names, and puts the focus into the field. Returns whether the form has the field.
 *
 * @param {HTMLFormElement} form
 * @param {unknown} error
 */
export const showFieldError = (form, error) => {
  if (!(error instanceof OperationError) || error.param === null) return false
  const { message, param } = error
  const field = form.elements.namedItem(param)
  if (!(field instanceof HTMLElement)) return false
  const group = field instanceof HTMLFieldSetElement ? field : field.closest("label")
  const label = textOf(field instanceof HTMLFieldSetElement ? field.querySelector("legend") : group)
  const shown = document.createElement("p")
  shown.className = "error"
  shown.id = error_id
  shown.setAttribute("role", "alert")
  shown.textContent = messageWithLabel({ message, param }, label)
  ;(group ?? field).after(shown)
  field.setAttribute("aria-describedby", error_id)
  if (!(field instanceof HTMLFieldSetElement)) field.setAttribute("aria-invalid", "true")
  field.focus()
  return true
}

/**
 * Removes the error of a field.
 *
 * @param {HTMLFormElement} form
 */
export const clearFieldError = (form) => {
  form.querySelector(`#${error_id}`)?.remove()
  const field = form.querySelector(`[aria-describedby="${error_id}"]`)
  field?.removeAttribute("aria-describedby")
  field?.removeAttribute("aria-invalid")
}
