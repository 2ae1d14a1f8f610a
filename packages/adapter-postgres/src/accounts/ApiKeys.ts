import { ApiKeyStore } from "@messaging-crm/core/ApiKeys"
import { Effect, Layer, Option } from "effect"
import { SqlClient } from "effect/sql"
import { isClosed } from "../database/ClosedOrganization.ts"
import { date } from "../database/RowCodecs.ts"
import { isRejection } from "../database/Writable.ts"
import * as ApiKeyWindows from "./ApiKeyWindows.ts"

/** Layer that counts the requests of API keys in PostgreSQL. */
export const layer = Layer.effect(
  ApiKeyStore,
  SqlClient.SqlClient.useSync((sql) => {
    const authenticate = ApiKeyWindows.make(sql)

    // Only for the request that opens a window, so at most once in a minute.
    const recordUse = ({ key_id, now, organization_id }: ApiKeyWindows.MeteredRow) =>
      sql`
        UPDATE api_keys SET last_used_at = ${date(now)} WHERE organization_id = ${organization_id} AND id = ${key_id}
      `.pipe(
        // If the disk is full, or the organization is closed for writes, the request still continues.
        Effect.catchIf((error) => isRejection(error) || isClosed(error), () => Effect.void),
        Effect.orDie
      )

    return ApiKeyStore.of({
      authenticate: (digest, limit) =>
        Effect.tap(
          authenticate({ digest, limit }),
          (found) => Option.isSome(found) && found.value.opens_window ? recordUse(found.value) : Effect.void
        )
    })
  })
)
