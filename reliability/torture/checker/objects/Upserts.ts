/** The steps of upserts, which write several contacts. */
import { listOf, textOf } from "../../Responses.ts"
import type { Evidence } from "../Evidence.ts"
import { phoneOf, type Request, spanOf } from "../Requests.ts"
import type { Step } from "./Linearizability.ts"
import { successOf } from "./ObjectSteps.ts"
import type { Action } from "./Outcomes.ts"

/** Returns the contacts that ever had the value of an upsert's match. */
const matchingContacts = ({ observations }: Evidence, match: string, given: unknown): ReadonlySet<string> => {
  const value = match === "primary_phone" ? phoneOf(textOf(given, match)) : textOf(given, match)
  const hasValue = (resource: unknown) =>
    match === "external_id"
      ? listOf(resource, "identities").some(({ external_id }) => external_id === value)
      : textOf(resource, match)?.toLowerCase() === value?.toLowerCase()
  return new Set(
    observations.contacts.filter(({ resource }) => hasValue(resource)).map(({ resource }) => String(resource["id"]))
  )
}

/** Returns the steps of an upsert, each with the ID of its contact. Without a response, each matching contact can have changed. */
export const upsertSteps = (
  evidence: Evidence,
  request: Request
): ReadonlyArray<readonly [contact_id: string, step: Step<Action>]> => {
  const { attempts, call: { index, request: { body } }, outcomes: [first] } = request
  const span = spanOf(request)
  if (span === null) return []
  // Each contact is committed on its own, so an attempt without a response can have written some of them.
  const started_at = attempts[0]?.started_at ?? span.started_at
  const results = listOf(first?.response.body, "data", "results")
  return listOf(body, "contacts").flatMap((given, position) => {
    const { external_id: _external_id, ...fields } = given
    const action = { call: index, body: fields, outcome: successOf(first?.response) }
    if (first === undefined) {
      const step: Step<Action> = { started_at, ended_at: null, action: { ...action, name: "upsert" } }
      const contacts = matchingContacts(evidence, textOf(body, "match") ?? "", given)
      return Array.from(contacts, (contact_id) => [contact_id, step] as const)
    }
    const { contact_id, outcome } = results[position] ?? {}
    const name = outcome === "created" ? "contacts.create" : "upsert"
    return typeof contact_id === "string"
      ? [[contact_id, { ...span, started_at, action: { ...action, name } }] as const]
      : []
  })
}
