/**
 * Idempotency keys. A write records its response in its own transaction, without a lookup: a key that was used before
 * violates the primary key, which rolls the second write back, and only then is the record read.
 */
import type { FastifyReply, FastifyRequest } from "fastify"
import { hash } from "node:crypto"
import type { Query, Row, Statement } from "./Database.ts"
import { invalid, Rejected } from "./Errors.ts"

const record = {
  name: "idempotency_record",
  text: "SELECT fingerprint, status, body FROM idempotency_keys WHERE organization_id = $1 AND key = $2"
}

const keyOf = ({ headers }: FastifyRequest): string => {
  const key = headers["idempotency-key"]
  if (typeof key === "string" && /^[\x20-\x7e]{8,200}$/.test(key)) return key
  throw new Rejected(400, "missing_idempotency_key", "An Idempotency-Key is required.", "Idempotency-Key")
}

const fingerprintOf = ({ body, method, url }: FastifyRequest): Buffer =>
  hash("sha256", `${method} ${url}\n${JSON.stringify(body)}`, "buffer")

const isUsed = (error: unknown): boolean =>
  error instanceof Error && "constraint" in error && error.constraint === "idempotency_keys_pkey"

/** Makes the function that runs a write and sends its response, or replays it. */
export const make = (query: Query) => {
  const replay = async (request: FastifyRequest, reply: FastifyReply, key: string): Promise<string | undefined> => {
    const [row] = await query(record, [request.key.organization_id, key])
    if (row === undefined) return undefined
    const [fingerprint, status, body] = row
    if (!fingerprintOf(request).equals(fingerprint)) {
      throw new Rejected(409, "idempotency_conflict", "The key was used for another request.", "Idempotency-Key")
    }
    return send(reply.header("idempotent-replayed", "true"), status, body)
  }

  /** Runs a function of the database, whose first arguments identify the request. */
  const write = async (
    request: FastifyRequest,
    reply: FastifyReply,
    statement: Statement,
    values: Array<unknown>
  ): Promise<string> => {
    const key = keyOf(request)
    const [status, body]: Row = await query(statement, [
      request.key.organization_id,
      key,
      fingerprintOf(request),
      request.id,
      ...values
    ]).then(([row = []]) => row, (error: unknown) => {
      if (isUsed(error)) return []
      throw error
    })
    if (status !== undefined && status !== 400) return send(reply, status, body)
    const replayed = await replay(request, reply, key)
    if (replayed === undefined) throw invalid(body ?? null)
    return replayed
  }

  /** Replays the response of an accepted request, because a body that the schema rejects can still be its retry. */
  const reject = async (request: FastifyRequest, reply: FastifyReply, error: Error): Promise<string> => {
    const replayed = await replay(request, reply, keyOf(request))
    if (replayed === undefined) throw error
    return replayed
  }

  return { write, reject }
}

const send = (reply: FastifyReply, status: number, body: string): string => {
  reply.code(status).header("content-type", "application/json; charset=utf-8")
  return body
}
