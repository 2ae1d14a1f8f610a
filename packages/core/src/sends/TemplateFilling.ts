/**
 * Template filling: checks the values for a template's placeholders, and fills them in (contract §12.3).
 */
import { Result, Schema } from "effect"
import {
  isButtonSubType,
  type Template,
  type TemplateButton,
  type TemplateComponent,
  type TemplateParameter,
  type TemplateValues
} from "./Template.ts"

// -------------------------------------------------------------- errors

/** The template's status is not `APPROVED`. */
export class TemplateNotApproved extends Schema.TaggedError<TemplateNotApproved>()("TemplateNotApproved", {
  status: Schema.String
}) {}

/** The values do not fit the template's placeholders. */
export class TemplateValuesMismatch extends Schema.TaggedError<TemplateValuesMismatch>()("TemplateValuesMismatch", {
  detail: Schema.String
}) {}

// ----------------------------------------------------------- decisions

const placeholder = /\{\{\s*([A-Za-z0-9_]+)\s*\}\}/g

/** Returns the names of a text's placeholders, each once, in order of appearance. */
const placeholders = (value: string | null): ReadonlyArray<string> =>
  Array.from(new Set(Array.from((value ?? "").matchAll(placeholder), ([, key = ""]) => key)))

type ParameterType = TemplateParameter["type"]

/** One part of a template: its placeholders or its file, and which parameters it accepts. */
interface Part {
  readonly source: string | null
  readonly types: ReadonlyArray<ParameterType>
  /** How many parameters it requires, where that does not follow from its placeholders. */
  readonly count_range: readonly [min: number, max: number] | null
  /** Whether its placeholders have names. */
  readonly is_named: boolean
  /** The kind of a button as sends name it. Absent if the network names the kind differently in templates and in sends. */
  readonly sub_type?: string
}

/** Returns the name of the part that values are for. */
const partNameOf = (values: TemplateValues): string =>
  values.type === "button" ? `button ${Number(values.index)}` : values.type

/** The types of the parameters that fill a placeholder. */
const placeholder_types: ReadonlyArray<ParameterType> = ["text", "currency", "date_time"]

/** The types of the parameters for a header's file, by the format of the header. */
const file_types: ReadonlyMap<string | null, ParameterType> = new Map([
  ["IMAGE", "image"],
  ["VIDEO", "video"],
  ["DOCUMENT", "document"]
])

/** The parts that need values of other types than the API has: parts of a template, formats of a header, kinds of a button. */
const unsupported: Readonly<Record<"button" | "header" | "part", ReadonlyArray<string | null>>> = {
  part: ["CAROUSEL", "LIMITED_TIME_OFFER"],
  header: ["GIF", "LOCATION", "PRODUCT"],
  button: ["MPM", "ORDER_DETAILS", "SPM"]
}

/** Returns the name of a part that the API cannot fill, or undefined. */
const unsupportedPartOf = ({ components }: Template): string | undefined =>
  components.flatMap(({ buttons, format, type }) => [
    ...unsupported.part.includes(type) ? [type] : [],
    ...type === "HEADER" && unsupported.header.includes(format) ? [`${format} header`] : [],
    ...(buttons ?? []).flatMap((button) => unsupported.button.includes(button.type) ? [`${button.type} button`] : [])
  ])[0]

const headerPartOf = ({ format, text }: TemplateComponent, is_named: boolean): Part => {
  const file = file_types.get(format)
  return file === undefined
    ? { source: text, types: placeholder_types, count_range: null, is_named }
    : { source: null, types: [file], count_range: [1, 1], is_named: false }
}

const buttonsOf = ({ components }: Template): ReadonlyArray<TemplateButton> =>
  components.flatMap(({ buttons }) => buttons ?? [])

/** Returns the body. The network can omit the text of a body that only contains a one-time code. */
const bodyPartOf = ({ text }: TemplateComponent, template: Template, is_named: boolean): Part => ({
  source: text === null && buttonsOf(template).some(({ type }) => type === "OTP") ? "{{1}}" : text,
  types: placeholder_types,
  count_range: null,
  is_named
})

const buttonPartOf = ({ type, url }: TemplateButton): Part => {
  // The placeholder of a URL has a number in every template.
  const kind = { is_named: false, ...isButtonSubType(type) ? { sub_type: type.toLowerCase() } : {} }
  switch (type) {
    case "QUICK_REPLY":
      return { source: null, types: ["payload", "text"], count_range: [0, 1], ...kind }
    // Its parameter is the code that it copies.
    case "COPY_CODE":
      return { source: null, types: ["text"], count_range: [1, 1], ...kind }
    // Its parameter is the one-time code. Sends name it as what it becomes: a link that contains the code.
    case "OTP":
      return { source: null, types: ["text"], count_range: [1, 1], ...kind, sub_type: "url" }
    default:
      return { source: url, types: ["text"], count_range: null, ...kind }
  }
}

/** Returns the parts of a template that accept parameters, by name. */
const partsOf = (template: Template): ReadonlyMap<string, Part> => {
  const parts = new Map<string, Part>()
  const is_named = template.parameter_format === "NAMED"
  for (const component of template.components) {
    if (component.type === "HEADER") parts.set("header", headerPartOf(component, is_named))
    if (component.type === "BODY") parts.set("body", bodyPartOf(component, template, is_named))
    for (const [index, button] of (component.buttons ?? []).entries()) {
      parts.set(`button ${index}`, buttonPartOf(button))
    }
  }
  return parts
}

const parameterCount = (count: number): string => count === 1 ? "1 parameter" : `${count} parameters`

const nameOf = (parameter: TemplateParameter): string | undefined =>
  "parameter_name" in parameter ? parameter.parameter_name : undefined

/** Returns why parameters do not match a part, or null. */
const mismatchOf = (
  name: string,
  { count_range, is_named, source, types }: Part,
  given: ReadonlyArray<TemplateParameter>
): string | null => {
  const wanted = placeholders(source)
  const [min, max] = count_range ?? [wanted.length, wanted.length]
  if (given.length < min || given.length > max) {
    const slots = wanted.length > 0 ? wanted.map((key) => `{{${key}}}`).join(", ") : `its ${types.join(" or ")}`
    const limit = min < max ? "accepts at most" : "requires"
    const expected = max === 0 ? "accepts no parameters" : `${limit} ${parameterCount(max)} for ${slots}`
    return `The ${name} ${expected}, but the request has ${given.length}.`
  }
  const wrong = given.find(({ type }) => !types.includes(type))
  if (wrong !== undefined) return `The ${name} requires parameters of type ${types.join(" or ")}, not ${wrong.type}.`
  const names = new Set(given.map(nameOf))
  const missing = is_named ? wanted.find((key) => !names.has(key)) : undefined
  return missing === undefined ? null : `The ${name} requires a parameter with parameter_name "${missing}".`
}

/** Returns the text that replaces a placeholder. */
const textOf = (parameter: TemplateParameter | undefined): string => {
  switch (parameter?.type) {
    case "text":
      return parameter.text
    case "currency":
      return parameter.currency.fallback_value
    case "date_time":
      return parameter.date_time.fallback_value
    default:
      return ""
  }
}

/** Returns why the buttons of an authentication template do not have the code of its body, or null. */
const codeMismatchOf = (
  { category }: Template,
  given: ReadonlyMap<string, ReadonlyArray<TemplateParameter>>
): string | null => {
  const codeOf = (part: string) => textOf(given.get(part)?.[0])
  const other = Array.from(given).find(([part, parameters]) =>
    part.startsWith("button") && parameters.length > 0 && codeOf(part) !== codeOf("body")
  )
  return category === "AUTHENTICATION" && other !== undefined ? `The ${other[0]} requires the code of the body.` : null
}

/** Returns the parameters for each part, or why a component matches no part. */
const parametersByPart = (
  parts: ReadonlyMap<string, Part>,
  components: ReadonlyArray<TemplateValues>
): Result.Result<ReadonlyMap<string, ReadonlyArray<TemplateParameter>>, string> => {
  const given = new Map<string, ReadonlyArray<TemplateParameter>>()
  for (const values of components) {
    const part = partNameOf(values)
    if (given.has(part)) return Result.fail(`The ${part} is listed more than once. List each component once.`)
    if (!parts.has(part)) {
      return Result.fail(`The template has no ${part} with placeholders. Check its components with GET /templates.`)
    }
    const sub_type = parts.get(part)?.sub_type
    if (values.type === "button" && sub_type !== undefined && values.sub_type.toLowerCase() !== sub_type) {
      return Result.fail(`The ${part} requires the sub_type ${sub_type}, not ${values.sub_type}.`)
    }
    given.set(part, values.parameters)
  }
  return Result.succeed(given)
}

/** A template with its values. */
export interface FilledTemplate {
  /** The body, as the recipient reads it. */
  readonly text: string
  /** The values, as the network requires them. */
  readonly components: ReadonlyArray<TemplateValues>
}

/** Returns a parameter without the name that a part with numbered placeholders does not have. */
const withoutName = (parameter: TemplateParameter): TemplateParameter => {
  if (!("parameter_name" in parameter)) return parameter
  const { parameter_name: _, ...unnamed } = parameter
  return unnamed
}

/**
 * Returns the values as the network requires them: it needs each `FLOW` button listed, although such a button has no
 * parameters.
 */
const networkComponents = (
  template: Template,
  parts: ReadonlyMap<string, Part>,
  components: ReadonlyArray<TemplateValues>
): ReadonlyArray<TemplateValues> => {
  const listed = new Set(components.map(partNameOf))
  return [
    ...components.map((values) =>
      parts.get(partNameOf(values))?.is_named === true
        ? values
        : { ...values, parameters: values.parameters.map(withoutName) }
    ),
    ...buttonsOf(template).flatMap(({ type }, index): ReadonlyArray<TemplateValues> =>
      type === "FLOW" && !listed.has(`button ${index}`)
        ? [{ type: "button", sub_type: "flow", index, parameters: [] }]
        : []
    )
  ]
}

/** Returns the text of a part with its placeholders replaced. */
const fillText = ({ is_named, source }: Part, given: ReadonlyArray<TemplateParameter>): string => {
  const order = placeholders(source)
  const positional = order.toSorted((a, b) => Number(a) - Number(b))
  const value = (key: string): string =>
    textOf(is_named ? given.find((parameter) => nameOf(parameter) === key) : given[positional.indexOf(key)])
  return (source ?? "").replace(placeholder, (_, key: string) => value(key))
}

/**
 * Fills a template, or returns why it cannot be filled with the values.
 *
 * The text is replaced in a single pass, so braces inside a value are never read
 * as a placeholder.
 */
export const fillTemplate = (
  template: Template,
  components: ReadonlyArray<TemplateValues>
): Result.Result<FilledTemplate, TemplateNotApproved | TemplateValuesMismatch> => {
  const mismatch = (detail: string) => Result.fail(new TemplateValuesMismatch({ detail }))
  if (template.status !== "APPROVED") return Result.fail(new TemplateNotApproved({ status: template.status }))
  const unsupportedPart = unsupportedPartOf(template)
  if (unsupportedPart !== undefined) {
    return mismatch(`The template has a ${unsupportedPart}, which the API cannot fill. Use a template without it.`)
  }
  const parts = partsOf(template)
  const given = parametersByPart(parts, components)
  if (Result.isFailure(given)) return mismatch(given.failure)
  for (const [name, part] of parts) {
    const detail = mismatchOf(name, part, given.success.get(name) ?? [])
    if (detail !== null) return mismatch(detail)
  }
  const codeMismatch = codeMismatchOf(template, given.success)
  if (codeMismatch !== null) return mismatch(codeMismatch)
  const body = parts.get("body")
  const text = body === undefined ? "" : fillText(body, given.success.get("body") ?? [])
  return Result.succeed({ text, components: networkComponents(template, parts, components) })
}
