/**
 * Templates: message templates, read live from the provider (contract §9.5).
 *
 * A copy of each catalog, used for at most ten minutes, lets sends be checked
 * while the provider is down. Lists are never read from it.
 */
import { Cache, Context, Duration, Effect, Exit, Layer, Result, Schema } from "effect"
import { ChannelStore } from "../../catalog/Channels.ts"
import { CurrentActor } from "../../kernel/Actor.ts"
import { operation } from "../../kernel/Operations.ts"
import { traced } from "../../kernel/Traces.ts"
import { MessagingProvider, ProviderUnavailable } from "./MessagingProvider.ts"
import {
  isButtonSubType,
  type Template,
  type TemplateButton,
  type TemplateComponent,
  type TemplateParameter,
  type TemplateValues
} from "./Template.ts"

export * from "./Template.ts"

// -------------------------------------------------------------- errors

/** The channel's business account has no such template. */
export class TemplateNotFound extends Schema.TaggedError<TemplateNotFound>()("TemplateNotFound", {}) {}

/** The template's status is not `APPROVED`. */
export class TemplateNotApproved extends Schema.TaggedError<TemplateNotApproved>()("TemplateNotApproved", {
  status: Schema.String
}) {}

/** The values do not fit the template's placeholders. */
export class TemplateValuesMismatch extends Schema.TaggedError<TemplateValuesMismatch>()("TemplateValuesMismatch", {
  detail: Schema.String
}) {}

/** Why a template cannot be sent. */
export type TemplateRejected = TemplateNotFound | TemplateNotApproved | TemplateValuesMismatch | ProviderUnavailable

// ----------------------------------------------------------- decisions

/** The result of looking a template up in the catalog of a channel's business account. */
export type FoundTemplate = Result.Result<Template, TemplateNotFound | ProviderUnavailable>

/** A lookup without a template to look for. One value, because an error records its stack each time it is made. */
export const noTemplate: FoundTemplate = Result.fail(new TemplateNotFound())

const placeholder = /\{\{\s*([A-Za-z0-9_]+)\s*\}\}/g

/** Returns the names of a text's placeholders, each once, in order of appearance. */
const placeholders = (value: string | null): ReadonlyArray<string> =>
  Array.from(new Set(Array.from((value ?? "").matchAll(placeholder), ([, key = ""]) => key)))

type ParameterType = TemplateParameter["type"]

/** One part of a template: its placeholders or its file, and which parameters it takes. */
interface Part {
  readonly source: string | null
  readonly takes: ReadonlyArray<ParameterType>
  /** How many parameters it requires, where that does not follow from its placeholders. */
  readonly counts: readonly [min: number, max: number] | null
  /** Whether its placeholders have names. */
  readonly named: boolean
  /** The kind of a button as sends name it. Absent if the network names the kind differently in templates and in sends. */
  readonly sub_type?: string
}

const partOf = (values: TemplateValues): string =>
  values.type === "button" ? `button ${Number(values.index)}` : values.type

const words: ReadonlyArray<ParameterType> = ["text", "currency", "date_time"]

/** Files of headers, by the format of the header. */
const files: ReadonlyMap<string | null, ParameterType> = new Map([
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

const headerOf = ({ format, text }: TemplateComponent, named: boolean): Part => {
  const file = files.get(format)
  return file === undefined
    ? { source: text, takes: words, counts: null, named }
    : { source: null, takes: [file], counts: [1, 1], named: false }
}

const buttonOf = ({ type, url }: TemplateButton): Part => {
  // The placeholder of a URL has a number in every template.
  const kind = { named: false, ...isButtonSubType(type) ? { sub_type: type.toLowerCase() } : {} }
  switch (type) {
    case "QUICK_REPLY":
      return { source: null, takes: ["payload", "text"], counts: [0, 1], ...kind }
    // Its parameter is the code that it copies.
    case "COPY_CODE":
      return { source: null, takes: ["text"], counts: [1, 1], ...kind }
    default:
      return { source: url, takes: ["text"], counts: null, ...kind }
  }
}

const partsOf = (template: Template): ReadonlyMap<string, Part> => {
  const parts = new Map<string, Part>()
  const named = template.parameter_format === "NAMED"
  for (const component of template.components) {
    if (component.type === "HEADER") parts.set("header", headerOf(component, named))
    if (component.type === "BODY") parts.set("body", { source: component.text, takes: words, counts: null, named })
    for (const [index, button] of (component.buttons ?? []).entries()) parts.set(`button ${index}`, buttonOf(button))
  }
  return parts
}

const counted = (count: number): string => count === 1 ? "1 parameter" : `${count} parameters`

const nameOf = (parameter: TemplateParameter): string | undefined =>
  "parameter_name" in parameter ? parameter.parameter_name : undefined

/** Returns why parameters do not fit a part, or null. */
const misfit = (
  name: string,
  { counts, named, source, takes }: Part,
  given: ReadonlyArray<TemplateParameter>
): string | null => {
  const wanted = placeholders(source)
  const [min, max] = counts ?? [wanted.length, wanted.length]
  if (given.length < min || given.length > max) {
    const slots = wanted.length > 0 ? wanted.map((key) => `{{${key}}}`).join(", ") : `its ${takes.join(" or ")}`
    const limit = min < max ? "accepts at most" : "requires"
    const expected = max === 0 ? "accepts no parameters" : `${limit} ${counted(max)} for ${slots}`
    return `The ${name} ${expected}, but the request has ${given.length}.`
  }
  const wrong = given.find(({ type }) => !takes.includes(type))
  if (wrong !== undefined) return `The ${name} requires parameters of type ${takes.join(" or ")}, not ${wrong.type}.`
  const names = new Set(given.map(nameOf))
  const missing = named ? wanted.find((key) => !names.has(key)) : undefined
  return missing === undefined ? null : `The ${name} requires a parameter with parameter_name "${missing}".`
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

/** Returns the values as the network requires them: it needs each `FLOW` button listed, although such a button has no parameters. */
const required = (
  template: Template,
  parts: ReadonlyMap<string, Part>,
  components: ReadonlyArray<TemplateValues>
): ReadonlyArray<TemplateValues> => {
  const listed = new Set(components.map(partOf))
  const buttons = template.components.flatMap(({ buttons }) => buttons ?? [])
  return [
    ...components.map((values) =>
      parts.get(partOf(values))?.named === true ? values : { ...values, parameters: values.parameters.map(withoutName) }
    ),
    ...buttons.flatMap(({ type }, index): ReadonlyArray<TemplateValues> =>
      type === "FLOW" && !listed.has(`button ${index}`)
        ? [{ type: "button", sub_type: "flow", index, parameters: [] }]
        : []
    )
  ]
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
  const given = new Map<string, ReadonlyArray<TemplateParameter>>()
  for (const values of components) {
    const part = partOf(values)
    if (given.has(part)) return mismatch(`The ${part} is listed more than once. List each component once.`)
    if (!parts.has(part)) {
      return mismatch(`The template has no ${part} with placeholders. Check its components with GET /templates.`)
    }
    const sub_type = parts.get(part)?.sub_type
    if (values.type === "button" && sub_type !== undefined && values.sub_type.toLowerCase() !== sub_type) {
      return mismatch(`The ${part} requires the sub_type ${sub_type}, not ${values.sub_type}.`)
    }
    given.set(part, values.parameters)
  }
  for (const [name, part] of parts) {
    const detail = misfit(name, part, given.get(name) ?? [])
    if (detail !== null) return mismatch(detail)
  }
  const body = parts.get("body")
  const text = body === undefined ? "" : fill(body, given.get("body") ?? [])
  return Result.succeed({ text, components: required(template, parts, components) })
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

const fill = ({ named, source }: Part, given: ReadonlyArray<TemplateParameter>): string => {
  const order = placeholders(source)
  const positional = order.toSorted((a, b) => Number(a) - Number(b))
  const value = (key: string): string =>
    textOf(named ? given.find((parameter) => nameOf(parameter) === key) : given[positional.indexOf(key)])
  return (source ?? "").replace(placeholder, (_, key: string) => value(key))
}

// ---------------------------------------------------------- operations

/** How long a list waits for the provider: less than a read may take (contract §2.1), so that it fails with the reason. */
const list_time_max = Duration.seconds(6)
/** The maximum age of a copy that a send is checked against while the provider is down. */
const copy_age_max = Duration.minutes(10)
/** The same, while the provider is up. */
const copy_fresh = Duration.seconds(30)
/** How long sends use the older copy after the provider has failed, before it is called again. */
const retry_pause = Duration.seconds(1)
/** The capacity of the cache, in business accounts. */
const accounts_max = 10_000

/** Operations on the templates of the current actor's channels. */
export class Templates extends Context.Service<Templates, {
  /** Returns every template of every business account, read live. */
  readonly list: Effect.Effect<ReadonlyArray<Template>, ProviderUnavailable, CurrentActor>
  /** Returns a template of a business account, at most 30 seconds old, or from an older copy while the provider is down. */
  readonly find: (
    business_account_id: string,
    id: string
  ) => Effect.Effect<Template, TemplateNotFound | ProviderUnavailable>
}>()("@messaging-crm/core/Templates") {
  static readonly layer = Layer.effect(
    Templates,
    Effect.gen(function*() {
      const channels = yield* ChannelStore
      const provider = yield* MessagingProvider
      // Only `load` fills it.
      const copies = yield* Cache.makeWith(
        (_account: string): Effect.Effect<ReadonlyArray<Template>, ProviderUnavailable> =>
          Effect.fail(new ProviderUnavailable()),
        { capacity: accounts_max, timeToLive: (exit) => Exit.isSuccess(exit) ? copy_age_max : Duration.zero }
      )

      const accounts = CurrentActor.use(({ organization_id }) => channels.list(organization_id)).pipe(
        Effect.map((all) =>
          Array.from(new Set(all.flatMap((channel) => channel.phone_messaging_business_account_id ?? [])))
        )
      )

      const load = (account: string) =>
        Effect.tap(provider.templates(account), (templates) => Cache.set(copies, account, templates))

      // Concurrent readers share one call, because providers limit the rate of calls. The result is not cached.
      const live = yield* Cache.make({ lookup: load, capacity: accounts_max, timeToLive: Duration.zero })

      const list = operation("templates.list")(function*() {
        const all = yield* accounts
        const read = Effect.forEach(all, (account) => Cache.get(live, account), { concurrency: 4 })
        const catalogs = yield* Effect.timeoutOrElse(read, {
          duration: list_time_max,
          orElse: () => Effect.fail(new ProviderUnavailable())
        })
        return catalogs.flat()
      })()

      const fresh = yield* Cache.makeWith((account: string) => Cache.get(live, account), {
        capacity: accounts_max,
        timeToLive: (exit) => Exit.isSuccess(exit) ? copy_fresh : retry_pause
      })

      const find = traced("Templates.find")(function*(business_account_id: string, id: string) {
        const all = yield* Effect.catch(
          Cache.get(fresh, business_account_id),
          () => Cache.get(copies, business_account_id)
        )
        return yield* Effect.fromNullishOr(all.find((candidate) => candidate.id === id)).pipe(
          Effect.mapError(() => new TemplateNotFound())
        )
      })

      return Templates.of({ list, find })
    })
  )
}
