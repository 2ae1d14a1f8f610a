/** Reads the template catalog of a business account, page by page. */
import { ProviderUnavailable } from "@messaging-crm/core/MessagingProvider"
import { Effect, Option, Schema, Stream } from "effect"
import { type HttpClient, HttpClientRequest } from "effect/http"
import type { WhatsAppAccount } from "./CloudAccounts.ts"
import { call } from "./GraphClient.ts"
import { lenient } from "./GraphSchemas.ts"
import { ListedTemplate, templateOf } from "./Templates/ListedTemplate.ts"

/** Schema for a page of a catalog. */
const CatalogPage = Schema.Struct({
  data: Schema.Array(ListedTemplate),
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

/** Reads all templates of an account's business account. */
export const read = (client: HttpClient.HttpClient, account: WhatsAppAccount, base_url: string) => {
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
