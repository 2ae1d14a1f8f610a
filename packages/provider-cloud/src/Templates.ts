/** Reads the template catalog of a business account. */
import type { Template, TemplateButton, TemplateComponent } from "@messaging-crm/core/Templates"
import { Option, Schema } from "effect"
import { lenient } from "./GraphJson.ts"

const Button = Schema.Struct({
  type: lenient(Schema.String),
  text: lenient(Schema.String),
  url: lenient(Schema.String)
})

const Component = Schema.Struct({
  type: lenient(Schema.String),
  text: lenient(Schema.String),
  format: lenient(Schema.String),
  buttons: lenient(Schema.Array(Button))
})

/** A template of the list. Name, language and status are required, because a template cannot be sent without them. */
const Listed = Schema.Struct({
  id: Schema.String,
  name: Schema.String,
  language: Schema.String,
  status: Schema.String,
  category: lenient(Schema.String),
  parameter_format: lenient(Schema.String),
  components: lenient(Schema.Array(Component))
})

/** Schema for a page of a catalog. */
export const CatalogPage = Schema.Struct({
  data: Schema.Array(Listed),
  paging: lenient(Schema.Struct({
    cursors: lenient(Schema.Struct({ after: lenient(Schema.String) })),
    next: lenient(Schema.String)
  }))
})

/** The fields to request. */
export const fields = "id,name,language,category,status,parameter_format,components"
export const page_size = 100

const buttonOf = ({ text, type = "UNKNOWN", url }: typeof Button.Type): TemplateButton => ({
  type,
  text: text ?? null,
  url: url ?? null
})

const componentOf = ({ buttons, format, text, type = "UNKNOWN" }: typeof Component.Type): TemplateComponent => ({
  type,
  text: text ?? null,
  format: format ?? null,
  buttons: buttons === undefined ? null : buttons.map(buttonOf)
})

/** Returns a template in core's form. Enumerations are open: unknown values are passed through. */
export const templateOf = (business_account_id: string) =>
(
  { category = "UNKNOWN", components = [], parameter_format = "POSITIONAL", ...listed }: typeof Listed.Type
): Template => ({
  ...listed,
  category,
  phone_messaging_business_account_id: business_account_id,
  parameter_format,
  components: components.map(componentOf)
})

const decodeUrl = Schema.decodeUnknownOption(Schema.URLFromString)

/**
 * Returns the cursor of the next page; none on the last page, which has no `next`.
 *
 * The link in `next` is never followed, because it contains a token and a host.
 * Only its cursor is used.
 */
export const nextCursor = ({ paging }: typeof CatalogPage.Type): Option.Option<string> => {
  if (paging?.next === undefined) return Option.none()
  const linked = Option.flatMapNullishOr(decodeUrl(paging.next), (url) => url.searchParams.get("after"))
  return Option.orElse(Option.fromUndefinedOr(paging.cursors?.after), () => linked)
}
