/** Requests to send a message, as the fake Graph API reads and checks them. */
import { Data, Effect, Option, Ref, Schema } from "effect"
import type { AcceptedMessage, FakeTemplate, StateRef } from "./State.ts"
import { defaultTemplates } from "./Templates.ts"

const optionalText = Schema.optionalKey(Schema.String)

const Parameters = Schema.Array(Schema.Unknown)

const Template = Schema.Struct({
  name: Schema.String,
  language: Schema.Struct({ code: Schema.String }),
  components: Schema.optionalKey(Schema.Array(
    Schema.Struct({
      type: Schema.String,
      sub_type: optionalText,
      index: Schema.optionalKey(Schema.Union([Schema.String, Schema.Int])),
      parameters: Schema.optionalKey(Parameters)
    })
  ))
})

const Outbound = Schema.Struct({
  messaging_product: optionalText,
  /** Set instead of a message to report that an inbound one was read. */
  status: optionalText,
  message_id: optionalText,
  type: optionalText,
  to: optionalText,
  recipient: Schema.optionalKey(Schema.Union([Schema.String, Schema.Struct({ id: Schema.String })])),
  text: Schema.optionalKey(Schema.Struct({ body: Schema.String })),
  template: Schema.optionalKey(Template),
  message: Schema.optionalKey(Schema.Struct({
    text: optionalText,
    attachment: Schema.optionalKey(Schema.Unknown),
    attachments: Schema.optionalKey(Schema.Unknown),
    metadata: optionalText
  })),
  sender_action: optionalText,
  biz_opaque_callback_data: optionalText
})
type Outbound = typeof Outbound.Type

/** A request to send a message. */
export interface SendRequest extends Omit<AcceptedMessage, "id"> {
  readonly is_whatsapp: boolean
  /** Whether `to` contains a user ID instead of a number. */
  readonly is_misaddressed: boolean
}

/** A rejected request: its error code, HTTP status, and details. */
export class Fault extends Data.TaggedError("Fault")<{
  readonly code: number
  readonly status?: number
  readonly details: string
}> {}

const chars_max = { whatsapp: 4096, messenger: 2000 } as const
const instagram_bytes_max = 1000

export const isUserId = (id: string) => /^[A-Z]{2}\./.test(id)

/** Returns the digits of a number, without separators; any other ID unchanged. */
const normalized = (to: string): string => isUserId(to) ? to : to.replaceAll(/[\s().+-]/g, "")

const countCharacters = (text: string): number => Array.from(text).length
const countBytes = (text: string): number => new TextEncoder().encode(text).length

const faultInText = (text: string | undefined, max: number, count = countCharacters): Fault | null => {
  if (text === undefined || text.trim() === "") {
    return new Fault({ code: 100, details: "The text is missing or blank." })
  }
  return count(text) > max ? new Fault({ code: 100, details: `The text is longer than ${max}.` }) : null
}

interface FakeComponent {
  readonly buttons?: ReadonlyArray<{ readonly type?: unknown; readonly url?: unknown }>
  readonly type?: unknown
  readonly format?: unknown
  readonly text?: unknown
}

const componentOf = ({ components }: FakeTemplate, type: string): FakeComponent | undefined =>
  Array.isArray(components) ? components.find((component: FakeComponent) => component.type === type) : undefined

/** Returns how many different placeholders the body of a template has. */
const placeholdersOf = (template: FakeTemplate): number =>
  new Set(String(componentOf(template, "BODY")?.text ?? "").match(/\{\{\w+\}\}/g)).size

type Components = NonNullable<typeof Template.Type["components"]>

/** Returns whether a button needs a parameter: it opens a link with a placeholder, or contains a one-time code. */
const needsParameter = ({ type, url }: NonNullable<FakeComponent["buttons"]>[number]): boolean =>
  type === "OTP" || (type === "URL" && /\{\{\w+\}\}/.test(String(url)))

/** Returns what is wrong with the buttons: a parameter is missing, or a one-time code is not that of the body. */
const faultInButtons = (template: FakeTemplate, components: Components): Fault | null => {
  const body = components.find(({ type }) => type.toLowerCase() === "body")
  for (const [index, button] of (componentOf(template, "BUTTONS")?.buttons ?? []).entries()) {
    if (!needsParameter(button)) continue
    const given = components.find((component) =>
      component.type.toLowerCase() === "button" && component.sub_type === "url" && Number(component.index) === index
    )
    if (given?.parameters?.length !== 1) {
      return new Fault({ code: 131008, details: `The button at index ${index} of type Url requires a parameter.` })
    }
    const isOther = JSON.stringify(given.parameters) !== JSON.stringify(body?.parameters)
    if (template["category"] === "AUTHENTICATION" && isOther) {
      return new Fault({ code: 132012, details: `The button at index ${index} has another code than the body.` })
    }
  }
  return null
}

const Link = Schema.Struct({ link: Schema.String.check(Schema.isPattern(/^https:\/\//)) })
const Fallback = Schema.Struct({ fallback_value: Schema.String })

/** A parameter as the network reads it. */
const Parameter = Schema.Union([
  Schema.Struct({ type: Schema.Literal("text"), text: Schema.String }),
  Schema.Struct({
    type: Schema.Literal("currency"),
    currency: Schema.Struct({ ...Fallback.fields, code: Schema.String, amount_1000: Schema.Int })
  }),
  Schema.Struct({ type: Schema.Literal("date_time"), date_time: Fallback }),
  Schema.Struct({ type: Schema.Literal("image"), image: Link }),
  Schema.Struct({ type: Schema.Literal("video"), video: Link }),
  Schema.Struct({ type: Schema.Literal("document"), document: Link }),
  Schema.Struct({ type: Schema.Literal("payload"), payload: Schema.String }),
  Schema.Struct({ type: Schema.Literal("coupon_code"), coupon_code: Schema.String })
])
const decodeParameter = Schema.decodeUnknownOption(Parameter)

/** Returns the types of parameters that the network supports in a component. */
const parameterTypes = (component: string, header_format: string): ReadonlyArray<string> => {
  if (component === "button") return ["text", "payload", "coupon_code"]
  return component === "header" && header_format !== "text" ? [header_format] : ["text", "currency", "date_time"]
}

const faultInParameters = (
  template: FakeTemplate,
  { parameters = [], type }: { readonly type: string; readonly parameters?: ReadonlyArray<unknown> }
): Fault | null => {
  const component = type.toLowerCase()
  const types = parameterTypes(component, String(componentOf(template, "HEADER")?.format ?? "TEXT").toLowerCase())
  const areSupported = parameters.every((parameter) => {
    const decoded = decodeParameter(parameter)
    return Option.isSome(decoded) && types.includes(decoded.value.type)
  })
  return areSupported ? null : new Fault({
    code: 132012,
    details: `The ${component} has a parameter of another format than ${types.join(", ")}.`
  })
}

const faultInTemplate = (
  templates: ReadonlyArray<FakeTemplate>,
  given: typeof Template.Type | undefined
): Fault | null => {
  if (given === undefined) return new Fault({ code: 131008, details: "The template is missing." })
  const template = templates.find(({ language, name }) => name === given.name && language === given.language.code)
  if (template === undefined) {
    return new Fault({
      code: 132001,
      status: 404,
      details: `There is no template ${given.name} in ${given.language.code}.`
    })
  }
  const faults = (given.components ?? []).map((component) => faultInParameters(template, component))
  const fault = faults.find((fault) => fault !== null)
  if (fault !== undefined) return fault
  const body = given.components?.find(({ type }) => type.toLowerCase() === "body")
  const [count, expected] = [body?.parameters?.length ?? 0, placeholdersOf(template)]
  return count === expected
    ? faultInButtons(template, given.components ?? [])
    : new Fault({ code: 132000, details: `The body has ${count} parameters, not ${expected}.` })
}

const faultInWhatsApp = (
  templates: ReadonlyArray<FakeTemplate>,
  { template, text, to, type }: Outbound
): Fault | null => {
  if (to !== undefined && !isUserId(to) && !/^[0-9]{5,15}$/.test(normalized(to))) {
    return new Fault({ code: 131009, details: "`to` is not a phone number." })
  }
  switch (type ?? "text") {
    case "text":
      return faultInText(text?.body, chars_max.whatsapp)
    case "template":
      return faultInTemplate(templates, template)
    default:
      return null
  }
}

/** Messenger requires the type of a message, Instagram does not. */
const faultInMessenger = (body: unknown, { message }: Outbound): Fault | null => {
  if (message?.attachment !== undefined || message?.attachments !== undefined) return null
  const isMessenger = typeof body === "object" && body !== null && "messaging_type" in body
  return isMessenger
    ? faultInText(message?.text, chars_max.messenger)
    : faultInText(message?.text, instagram_bytes_max, countBytes)
}

const decode = Schema.decodeUnknownOption(Outbound)

const invalid = (details: string) => new Fault({ code: 100, details })

/** Reads a request. Fails with what is wrong with it. */
export const readRequest = Effect.fnUntraced(function*(state: StateRef, account: string, body: unknown) {
  const decoded = decode(body)
  if (Option.isNone(decoded)) return yield* invalid("A parameter has a wrong type.")
  const outbound = decoded.value
  const { biz_opaque_callback_data, message, message_id, recipient: named, status, text, to } = outbound
  const is_whatsapp = outbound.messaging_product === "whatsapp"
  if (!is_whatsapp && message === undefined && outbound.sender_action === undefined) {
    return yield* invalid("The parameter messaging_product is required.")
  }
  if (is_whatsapp && status !== undefined) {
    const isRead = status === "read" && message_id !== undefined && message_id !== ""
    return isRead ? { kind: "read" } as const : yield* invalid("`status` must be `read`, with a `message_id`.")
  }
  const recipient = normalized(to ?? (typeof named === "object" ? named.id : named ?? ""))
  if (recipient === "") return yield* invalid("The recipient is missing.")
  if (!is_whatsapp && outbound.sender_action !== undefined) return { kind: "action", recipient } as const
  const { templates } = yield* Ref.get(state)
  const listed = templates.size === 0 ? defaultTemplates : Array.from(templates.values()).flat()
  const fault = is_whatsapp ? faultInWhatsApp(listed, outbound) : faultInMessenger(body, outbound)
  if (fault !== null) return yield* fault
  const request: SendRequest = {
    account,
    recipient,
    reference: biz_opaque_callback_data ?? message?.metadata ?? null,
    text: text?.body ?? message?.text ?? null,
    body,
    is_whatsapp,
    is_misaddressed: to !== undefined && isUserId(to)
  }
  return { kind: "send", request } as const
})

/** Returns the recipient as it was written in a request, which the response repeats. */
export const inputOf = ({ body, recipient }: SendRequest): string =>
  Option.match(decode(body), { onNone: () => recipient, onSome: ({ to }) => to ?? recipient })
