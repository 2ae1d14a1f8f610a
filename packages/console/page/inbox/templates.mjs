// The values that a template requires, in the form that the API expects.

/**
 * @typedef {{ readonly type?: string, readonly text: string | null, readonly url: string | null }} Button
 * @typedef {{ readonly type: string, readonly text?: string | null, readonly format?: string | null,
 *   readonly buttons?: ReadonlyArray<Button> | null }} Component
 * @typedef {"document" | "image" | "video"} FileType
 * @typedef {{ readonly type: string, readonly sub_type?: string, readonly index?: number, readonly file?: FileType,
 *   readonly label: string, readonly names: ReadonlyArray<string>, readonly url?: string }} Part
 * @typedef {{ readonly category?: string, readonly components: ReadonlyArray<Component>,
 *   readonly parameter_format?: string }} TemplateContent
 */

const placeholder = /\{\{\s*(\w+)\s*\}\}/g

/**
 * Returns the names of the placeholders, each once. The API expects numbered ones in ascending order.
 *
 * @param {string | null | undefined} text
 */
const placeholders = (text) => {
  const names = Array.from(new Set(Array.from((text ?? "").matchAll(placeholder), ([, name = ""]) => name)))
  return names.every((name) => /^\d+$/.test(name)) ? names.toSorted((a, b) => Number(a) - Number(b)) : names
}

/** @type {Readonly<Record<string, FileType>>} */
const files = { DOCUMENT: "document", IMAGE: "image", VIDEO: "video" }

/**
 * Returns a button as a part. The code of an `OTP` is sent as that of a link.
 *
 * @param {Button} button
 * @param {number} index
 * @returns {Part}
 */
const buttonPart = ({ text, type = "URL", url }, index) => {
  const label = text === null ? "Button" : `Button “${text}”`
  if (type === "COPY_CODE") return { type: "button", sub_type: "copy_code", index, label, names: ["code"] }
  if (type === "OTP") return { type: "button", sub_type: "url", index, label, names: ["code"] }
  const names = type === "URL" ? placeholders(url) : []
  return { type: "button", sub_type: "url", index, label, names, ...url === null ? {} : { url } }
}

/**
 * Returns the parts of a component that can require values.
 *
 * @param {Component} component
 * @param {boolean} hasCode Whether a button of the template has a one-time code: the network can omit the text of its body.
 * @returns {ReadonlyArray<Part>}
 */
const partsOfComponent = ({ buttons, format, text, type }, hasCode) => {
  if (type === "BUTTONS") return (buttons ?? []).map(buttonPart)
  if (type === "BODY") {
    return [{ type: "body", label: "Body", names: placeholders(hasCode ? text ?? "{{1}}" : text) }]
  }
  if (type !== "HEADER") return []
  const file = files[format ?? ""]
  return file === undefined
    ? [{ type: "header", label: "Header", names: placeholders(text) }]
    : [{ type: "header", file, label: "Header", names: ["link"] }]
}

/**
 * Returns the parts of a template that require values.
 *
 * @param {TemplateContent} template
 */
export const partsOf = ({ components }) => {
  const hasCode = components.some(({ buttons }) => (buttons ?? []).some(({ type }) => type === "OTP"))
  return components.flatMap((component) => partsOfComponent(component, hasCode)).filter(({ names }) => names.length > 0)
}

/**
 * Returns whether the values of a part are asked for: the button of an authentication template repeats the code of the body.
 *
 * @param {TemplateContent} template
 * @param {Part} part
 */
export const isAskedFor = ({ category }, { type }) => category !== "AUTHENTICATION" || type !== "button"

/**
 * Returns the values of a form as the API expects them.
 *
 * @param {TemplateContent & { readonly id: string }} template
 * @param {(part: number, name: string) => string} valueOf
 */
export const choiceOf = (template, valueOf) => {
  const parts = partsOf(template)
  const body = parts.findIndex(({ type }) => type === "body")
  const codeName = parts[body]?.names[0] ?? ""
  return {
    id: template.id,
    components: parts.map((part, index) => {
      const { file, names, sub_type, type } = part
      const button = type === "button" ? { sub_type, index: part.index } : {}
      if (file !== undefined) {
        const filename = file === "document" ? valueOf(index, "filename") : ""
        const content = { link: valueOf(index, "link"), ...filename === "" ? {} : { filename } }
        return { type, parameters: [{ type: file, [file]: content }] }
      }
      const isNamed = template.parameter_format === "NAMED" && type !== "button"
      const parameters = names.map((name) => ({
        type: "text",
        text: isAskedFor(template, part) ? valueOf(index, name) : valueOf(body, codeName),
        ...isNamed ? { parameter_name: name } : {}
      }))
      return { type, ...button, parameters }
    })
  }
}

/**
 * Returns the text of a template's body with its values.
 *
 * @param {TemplateContent & { readonly name: string }} template
 * @param {(part: number, name: string) => string} valueOf
 */
export const filledText = (template, valueOf) => {
  const body = template.components.find(({ type }) => type === "BODY")
  const part = partsOf(template).findIndex(({ type }) => type === "body")
  return (body?.text ?? template.name).replace(placeholder, (_, name) => valueOf(part, name))
}

/**
 * Returns the texts of a template with the values that have been entered so far.
 *
 * @param {TemplateContent} template
 * @param {(part: number, name: string) => string} valueOf
 */
export const previewOf = (template, valueOf) => {
  const parts = partsOf(template)
  return template.components.flatMap(({ text, type }) => {
    const part = parts.findIndex((each) => each.type === type.toLowerCase())
    return text ? [text.replace(placeholder, (shown, name) => valueOf(part, name) || shown)] : []
  })
}

/** The parts that the API cannot fill. */
const unsupported = {
  component: ["CAROUSEL", "LIMITED_TIME_OFFER"],
  header: ["GIF", "LOCATION", "PRODUCT"],
  button: ["MPM", "ORDER_DETAILS", "SPM"]
}

/**
 * Returns the part for which a template cannot be sent, or undefined.
 *
 * @param {TemplateContent} template
 */
export const unsupportedPartOf = ({ components }) =>
  components.flatMap(({ buttons, format, type }) => [
    ...unsupported.component.includes(type) ? [type] : [],
    ...type === "HEADER" && unsupported.header.includes(format ?? "") ? [`${format} header`] : [],
    ...(buttons ?? []).flatMap((button) =>
      unsupported.button.includes(button.type ?? "") ? [`${button.type} button`] : []
    )
  ])[0]
