import { ContactFields } from "@messaging-crm/core/ContactFields"
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { Api } from "../api/Api.ts"
import * as Responses from "../middleware/Responses.ts"
import { requiring } from "./Requirements.ts"

/** Layer that serves `/contact-fields`. */
export const layer = HttpApiBuilder.group(
  Api,
  "contact_fields",
  Effect.fnUntraced(function*(handlers) {
    const contactFields = yield* ContactFields

    return handlers.handleAll({
      list: ({ endpoint }) => Effect.flatMap(contactFields.list, Responses.complete(endpoint))
    })
  })
).pipe(requiring(ContactFields))
