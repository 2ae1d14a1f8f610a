/** The check before every request: the key by its digest, its member, its rate window, and its scope. */
import type { FastifyReply, FastifyRequest } from "fastify"
import { hash } from "node:crypto"
import type { Query, Row } from "./Database.ts"
import { Rejected } from "./Errors.ts"

/** The organization and the member of a request. */
export interface Key {
  readonly organization_id: string
  readonly member_id: string
}

declare module "fastify" {
  interface FastifyRequest {
    key: Key
  }
  interface FastifyContextConfig {
    scope?: string
  }
}

const isUsable = `
  k.digest = $1 AND k.revoked_at IS NULL AND k.expires_at > now() AND m.removed_at IS NULL AND m.role IN ('owner', 'admin')
`

const columns =
  `k.organization_id, k.member_id, $2 = ANY (k.scopes), w.used, extract(epoch FROM w.opened_at)::integer + 60`

/** Checks the key and counts the request in one statement. Returns no row if the key is invalid or has no window. */
const countRequest = {
  name: "authenticate",
  text: `
    UPDATE rate_windows w SET
      opened_at = CASE WHEN w.opened_at <= now() - interval '60 s' THEN now() ELSE w.opened_at END,
      used = CASE WHEN w.opened_at <= now() - interval '60 s' THEN 1 ELSE w.used + 1 END
    FROM api_keys k
    JOIN members m ON m.id = k.member_id
    WHERE w.key_id = k.id AND ${isUsable}
    RETURNING ${columns}`
}

/** Does the same for a key without a window: a new key, or any key after a crash, which empties unlogged tables. */
const openWindow = {
  name: "authenticate_first",
  text: `
    WITH k AS (SELECT k.* FROM api_keys k JOIN members m ON m.id = k.member_id WHERE ${isUsable}),
    w AS (
      INSERT INTO rate_windows AS w SELECT id, now(), 1 FROM k
      ON CONFLICT (key_id) DO UPDATE SET used = w.used + 1
      RETURNING *
    )
    SELECT ${columns} FROM k, w`
}

const bearer = /^Bearer (svc_live_[A-Za-z0-9_-]{43})$/

/** Makes the hook for a limit of requests in 60 seconds. */
export const hook = (query: Query, limit: number) => {
  const limit_text = String(limit)

  const find = async (digest: Buffer, scope: string): Promise<Row | undefined> => {
    const [row] = await query(countRequest, [digest, scope])
    return row ?? (await query(openWindow, [digest, scope]))[0]
  }

  return async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    const presented = bearer.exec(request.headers.authorization ?? "")?.[1]
    const { scope = "" } = request.routeOptions.config
    const row = presented === undefined ? undefined : await find(hash("sha256", presented, "buffer"), scope)
    if (row === undefined) throw new Rejected(401, "unauthorized", "The API key is invalid, expired, or revoked.")
    const [organization_id, member_id, isAllowed, used, reset] = row
    reply.headers({
      "x-request-id": request.id,
      "cache-control": "no-store",
      "x-content-type-options": "nosniff",
      "x-ratelimit-limit": limit_text,
      "x-ratelimit-remaining": String(Math.max(0, limit - used)),
      "x-ratelimit-reset": String(reset)
    })
    if (used > limit) {
      const seconds = Math.min(60, Math.max(1, reset - Math.floor(Date.now() / 1000)))
      throw new Rejected(429, "rate_limited", "Too many requests.", null, { "retry-after": String(seconds) })
    }
    if (!isAllowed) throw new Rejected(403, "insufficient_scope", `The key lacks the scope ${scope}.`)
    request.key = { organization_id, member_id }
  }
}
