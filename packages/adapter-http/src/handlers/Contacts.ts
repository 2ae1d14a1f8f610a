import { Contacts } from "@messaging-crm/core/Contacts"
import { ContactUpserts, type UpsertResult } from "@messaging-crm/core/ContactUpserts"
import { Digests } from "@messaging-crm/core/Digests"
import { Effect, Result } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { Api } from "../api/Api.ts"
import type { UpsertedContacts } from "../api/Contacts.ts"
import { paging } from "../api/Envelope.ts"
import * as ErrorMapping from "../api/ErrorMapping.ts"
import * as EntityTags from "../middleware/EntityTags.ts"
import * as Responses from "../middleware/Responses.ts"
import { requiring } from "./Requirements.ts"

/** Returns the outcome of one contact of an upsert as callers see it. */
const toResult = (result: UpsertResult): typeof UpsertedContacts.Type["results"][number] =>
  Result.isSuccess(result)
    ? { outcome: result.success.outcome, contact_id: result.success.id, error: null }
    : { outcome: "failed", contact_id: null, error: ErrorMapping.rejectionText(result.failure) }

/** Layer that serves `/contacts`. */
export const layer = HttpApiBuilder.group(
  Api,
  "contacts",
  Effect.fnUntraced(function*(handlers) {
    const contacts = yield* Contacts
    const upserts = yield* ContactUpserts
    const tags = yield* EntityTags.make

    return handlers.handleAll({
      list: ({ endpoint, query }) =>
        contacts.list({ ...query, ...paging(query) }).pipe(
          Effect.flatMap(Responses.page(endpoint)),
          ErrorMapping.translate
        ),
      create: ({ endpoint, payload }) => Responses.written(endpoint)((respond) => contacts.create(payload, respond)),
      upsert: ({ endpoint, payload }) =>
        Responses.written(endpoint)(({ encode, record }) =>
          upserts.upsertAndRespond(payload, {
            encode: (results) => encode({ results: results.map(toResult) }),
            record
          })
        ),
      get: ({ endpoint, params }) =>
        contacts.get(params.contact_id).pipe(
          Effect.flatMap(Responses.tagged(endpoint, tags.headersOf)),
          ErrorMapping.translate
        ),
      update: ({ endpoint, headers, params, payload }) =>
        Effect.flatMap(
          tags.preconditionOf(endpoint, headers["if-match"]),
          (precondition) =>
            Responses.written(endpoint)((respond) => contacts.update(params.contact_id, payload, precondition, respond))
        ),
      addNote: ({ endpoint, headers, params, payload }) =>
        Effect.flatMap(
          tags.preconditionOf(endpoint, headers["if-match"]),
          (precondition) =>
            Responses.written(endpoint)((respond) =>
              contacts.addNote(params.contact_id, payload, precondition, respond)
            )
        )
    })
  })
).pipe(requiring(Contacts, ContactUpserts, Digests))
