// The values that a template requires, in the form that the API expects.

const placeholders = (text) => Array.from((text ?? "").matchAll(/\{\{\s*(\w+)\s*\}\}/g), ([, name = ""]) => name)

/** Returns the parts of a template that have placeholders. */
export const partsOf = ({ components }) =>
  components.flatMap(({ buttons, format, text, type }) => {
    if (type === "BUTTONS") {
      return (buttons ?? []).map((button, index) => ({ type: "button", index, text: button.url, label: button.text }))
    }
    const isText = type === "BODY" || (type === "HEADER" && format === "TEXT")
    return isText ? [{ type: type.toLowerCase(), text, label: type === "BODY" ? "Body" : "Header" }] : []
  }).map((part) => ({ ...part, names: Array.from(new Set(placeholders(part.text))) }))
    .filter(({ names }) => names.length > 0)

/** Returns the values of a form as the API expects them. */
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
