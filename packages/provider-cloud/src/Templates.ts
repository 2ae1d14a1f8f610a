/** Reads the template catalog of a business account. */
import { ProviderUnavailable } from "@messaging-crm/core/MessagingProvider"
import type { Template, TemplateButton, TemplateComponent } from "@messaging-crm/core/Templates"
import { Effect, Option, Schema, Stream } from "effect"
import { type HttpClient, HttpClientRequest } from "effect/http"
import type { PhoneAccount } from "./CloudAccounts.ts"
import { call } from "./GraphCalls.ts"
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
const CatalogPage = Schema.Struct({
  data: Schema.Array(Listed),
  paging: lenient(Schema.Struct({
    cursors: lenient(Schema.Struct({ after: lenient(Schema.String) })),
    next: lenient(Schema.String)
  }))
})

const decodePage = Schema.decodeUnknownEffect(CatalogPage)

const fields = "id,name,language,category,status,parameter_format,components"
const page_size = 100

/** The maximum number of pages of a catalog. More than that means a loop of cursors. */
const pages_max = 1000

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
const templateOf = (business_account_id: string) =>
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
 * Returns the cursor of the next page, or none on the last page, which has no `next`.
 *
 * The link in `next` is never followed, because it contains a token and a host.
 * Only its cursor is used.
 */
const nextCursor = (paging: typeof CatalogPage.Type["paging"]): Option.Option<string> => {
  if (paging?.next === undefined) return Option.none()
  const linked = Option.flatMapNullishOr(decodeUrl(paging.next), (url) => url.searchParams.get("after"))
  return Option.orElse(Option.fromUndefinedOr(paging.cursors?.after), () => linked)
}

/** Reads all templates of an account's business account, page by page. */
export const read = (client: HttpClient.HttpClient, account: PhoneAccount, base_url: string) => {
  const { business_account_id } = account
  const url = `${base_url}/${encodeURIComponent(business_account_id)}/message_templates`

  const readPage = Effect.fnUntraced(
    function*({ after, page }: { readonly after: string | null; readonly page: number }) {
      if (page > pages_max) return yield* new ProviderUnavailable()
      const request = HttpClientRequest.get(url, {
        urlParams: { fields, limit: page_size, ...(after === null ? {} : { after }) }
      })
      const { data, paging } = yield* Effect.flatMap(call(client, account, request), decodePage)
      const next = nextCursor(paging)
      // A page that announces a next page without a cursor is not the last page, so the response is invalid.
      if (Option.isNone(next) && paging?.next !== undefined) return yield* new ProviderUnavailable()
      return [
        data.map(templateOf(business_account_id)),
        Option.map(next, (cursor) => ({ after: cursor, page: page + 1 }))
      ] as const
    }
  )

  return Stream.runCollect(Stream.paginate({ after: null, page: 1 }, readPage))
}
