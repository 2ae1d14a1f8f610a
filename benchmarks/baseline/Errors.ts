/** Rejections in the form of the contract. */
import type { FastifyError, FastifyReply, FastifyRequest } from "fastify"

export class Rejected extends Error {
  readonly status: number
  readonly code: string
  readonly param: string | null
  readonly headers: Readonly<Record<string, string>>

  constructor(
    status: number,
    code: string,
    message: string,
    param: string | null = null,
    headers: Readonly<Record<string, string>> = {}
  ) {
    super(message)
    this.status = status
    this.code = code
    this.param = param
    this.headers = headers
  }
}

export const invalid = (param: string | null, message = "The value is not valid."): Rejected =>
  new Rejected(400, "invalid_input", message, param)

export const notFound = (resource: string): Rejected =>
  new Rejected(404, "not_found", `No ${resource} with this ID exists.`)

/** The name of the field that a schema rejected, as `custom_values.x`. */
const paramOf = ({ validation = [] }: FastifyError): string | null => {
  const [first] = validation
  if (first === undefined) return null
  const { additionalProperty, missingProperty } = first.params
  const path = [...first.instancePath.split("/").slice(1), additionalProperty ?? missingProperty]
  return path.filter((part) => typeof part === "string").join(".") || null
}

const rejectedOf = (error: FastifyError | Rejected): Rejected => {
  if (error instanceof Rejected) return error
  if (error.validation !== undefined) return invalid(paramOf(error), error.message)
  // The error class of data that PostgreSQL cannot store, such as NUL in a text.
  if (error.code?.startsWith("22")) return invalid(null)
  switch (error.statusCode) {
    case 400:
      return new Rejected(400, "invalid_json", "The body is not valid JSON.")
    case 413:
      return new Rejected(413, "body_too_large", "The body is too large.")
    case 415:
      return new Rejected(415, "unsupported_media_type", "The body must be application/json.")
    default:
      console.error(error)
      return new Rejected(500, "internal_error", "An internal error occurred.")
  }
}

/** Responds to a request that failed. */
export const sendError = (error: FastifyError | Rejected, request: FastifyRequest, reply: FastifyReply): void => {
  const { code, headers, message, param, status } = rejectedOf(error)
  void reply.code(status).headers(headers).header("x-request-id", request.id)
    .send({ error: { code, message, param, request_id: request.id } })
}
