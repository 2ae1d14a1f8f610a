/** The responses of calls as the specifications of single objects compare them. */
import type { Operation } from "@messaging-crm/core/Operations"
import type { RecordedResponse, Resource } from "../../History.ts"
import { codeOf, fieldOf, isSuccess, textOf } from "../../Responses.ts"

/** The result of a call about one object: the object, or a rejection. */
export interface Outcome {
  readonly status: number
  /** Null of a rejection. */
  readonly resource: Resource | null
  readonly param: string | null
}

/** The action of one call on one object. */
export interface Action {
  /** The position of the call; null for a final read, and for an action without a call. */
  readonly call: number | null
  /** The operation, or the name of another effect. */
  readonly name: Operation | "open" | "read" | "set_owner" | "upsert"
  readonly body: unknown
  /** Null without a response. */
  readonly outcome: Outcome | null
}

export const outcomeOf = (response: RecordedResponse): Outcome => {
  const data = fieldOf(response.body, "data")
  return {
    status: response.status,
    // Data that is not an object becomes one without fields, which no specification accepts.
    resource: isSuccess(response) ? (typeof data === "object" && data !== null ? data as Resource : {}) : null,
    param: codeOf(response) === null ? null : textOf(response.body, "error", "param")
  }
}

/** The result of a read of an object. */
export const successfulRead = (resource: Resource): Outcome => ({ status: 200, resource, param: null })

/** Equal for actions with equal effects. */
export const effectOf = ({ body, name }: Action): string => `${name} ${JSON.stringify(body)}`

export const forget = (action: Action): Action => ({ ...action, outcome: null })
