/** The rules of contract §19 for audit records: one for each write, and none without a write. */
import { rulesOf } from "@messaging-crm/core/Operations"
import type { Resource, Violation } from "../../History.ts"
import { isSuccess, listOf, textOf } from "../../Responses.ts"
import type { Evidence } from "../Evidence.ts"
import type { Request } from "../Requests.ts"

/** The minimum and the maximum number of records of a request. */
interface Bounds {
  readonly least: number
  readonly most: number
}

const boundsOf = (request: Request): Bounds => {
  const { attempts, call, outcomes: [first] } = request
  const most = call.operation === "contacts.upsert" ? listOf(call.request.body, "contacts").length : 1
  if (first === undefined) return { least: 0, most: attempts.length === 0 ? 0 : most }
  if (!isSuccess(first.response)) return { least: 0, most: 0 }
  if (call.operation !== "contacts.upsert") return { least: 1, most }
  const written = listOf(first.response.body, "data", "results")
    .filter(({ outcome }) => outcome === "created" || outcome === "updated")
  return { least: written.length, most: written.length }
}

const checkRequest = (request: Request, byRequest: ReadonlyMap<string | null, ReadonlyArray<Resource>>) => {
  const { attempts, call, outcomes } = request
  if (call.request.method === "COMMAND" || rulesOf(call.operation).audited === null) return []
  const records = attempts.flatMap(({ request: { request_id } }) => byRequest.get(request_id) ?? [])
  const { least, most } = boundsOf(request)
  const calls = outcomes.length === 0 ? [call.index] : outcomes.slice(0, 1).map(({ index }) => index)
  const mismatch = records.find(({ key_id, operation, request_id }) =>
    operation !== call.operation ||
    !attempts.some(({ request }) => request.request_id === request_id && request.key_id === key_id)
  )
  return [
    records.length >= least && records.length <= most ? [] : {
      rule: "Each write leaves one audit record, and a rejected request none (contract §19.1).",
      detail: `${call.operation} with ${attempts.length} attempts has ${records.length} records, not ${
        least === most ? least : `${least} to ${most}`
      }`,
      calls
    },
    mismatch === undefined ? [] : {
      rule: "An audit record names the operation and the API key of its request (contract §19.1).",
      detail: JSON.stringify(mismatch),
      calls
    }
  ].flat()
}

export const check = ({ history, requests }: Evidence): ReadonlyArray<Violation> => {
  const records = history.organizations.flatMap(({ final }) => final.audit)
  const byRequest = Map.groupBy(records, (record) => textOf(record, "request_id"))
  const known = new Set(requests.flatMap(({ attempts }) => attempts.map(({ request }) => request.request_id)))
  const unfounded = records.filter((record) => {
    const request_id = textOf(record, "request_id")
    return request_id !== null && !known.has(request_id)
  })
  return [
    ...requests.flatMap((request) => checkRequest(request, byRequest)),
    ...unfounded.map((record) => ({
      rule: "There is no audit record without a write (contract §19.1).",
      detail: JSON.stringify(record),
      calls: history.calls.filter(({ request }) => request.request_id === record["request_id"]).map(({ index }) =>
        index
      )
    }))
  ]
}
