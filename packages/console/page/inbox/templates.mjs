// The values that a template requires, in the form that the API expects.

/**
 * @typedef {{ readonly text: string | null, readonly url: string | null }} Button
 * @typedef {{ readonly type: string, readonly text?: string | null, readonly format?: string | null,
 *   readonly buttons?: ReadonlyArray<Button> | null }} Component
 * @typedef {{ readonly type: string, readonly index?: number, readonly text: string | null | undefined,
 *   readonly label: string | null }} Part
 * @typedef {{ readonly components: ReadonlyArray<Component> }} TemplateContent
 */

/** @param {string | null | undefined} text */
const placeholders = (text) => Array.from((text ?? "").matchAll(/\{\{\s*(\w+)\s*\}\}/g), ([, name = ""]) => name)

/**
 * Returns the texts of a component that can have placeholders.
 *
 * @param {Component} component
 * @returns {ReadonlyArray<Part>}
 */
const partsOfComponent = ({ buttons, format, text, type }) => {
  if (type === "BUTTONS") {
    return (buttons ?? []).map((button, index) => ({ type: "button", index, text: button.url, label: button.text }))
  }
  const isText = type === "BODY" || (type === "HEADER" && format === "TEXT")
  return isText ? [{ type: type.toLowerCase(), text, label: type === "BODY" ? "Body" : "Header" }] : []
}

/**
 * Returns the parts of a template that have placeholders.
 *
 * @param {TemplateContent} template
 */
export const partsOf = ({ components }) =>
  components
    .flatMap(partsOfComponent)
    .map((part) => ({ ...part, names: Array.from(new Set(placeholders(part.text))) }))
    .filter(({ names }) => names.length > 0)

/**
 * Returns the values of a form as the API expects them.
 *
 * @param {TemplateContent & { readonly id: string, readonly parameter_format: string }} template
 * @param {(part: number, name: string) => string} valueOf
 */
export const choiceOf = (template, valueOf) => ({
  id: template.id,
  components: partsOf(template).map(({ index, names, type }, part) => ({
    type,
    ...type === "button" ? { sub_type: "url", index } : {},
    parameters: names.map((name) => ({
      type: "text",
      text: valueOf(part, name),
      ...template.parameter_format === "NAMED" && type !== "button" ? { parameter_name: name } : {}
    }))
  }))
})
