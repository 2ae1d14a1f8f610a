/** The actions on the tags of an organization. */
import { foldCase } from "@messaging-crm/core/Text"
import type { Call, Resource } from "../../History.ts"
import { isSuccess, listOf, textOf } from "../../Responses.ts"
import type { Evidence } from "../Evidence.ts"
import { type CompletedCall, isCompleted, type Request, spanOf } from "../Requests.ts"
import { search, type Step } from "./Linearizability.ts"
import type { ObjectTrace } from "./Objects.ts"
import { outcomeOf } from "./Outcomes.ts"
import { type TagAction, tags } from "./TagSpecification.ts"

const viewOf = (action: TagAction) => ({ call: action.call, shown: action.do === "list" ? action.tags : null })

const creationStep = (request: Request): ReadonlyArray<Step<TagAction>> => {
  const { call, outcomes: [first] } = request
  const span = spanOf(request)
  if (span === null) return []
  const result = first === undefined ? null : outcomeOf(first.response)
  const outcome = result && { status: result.status, tag: result.resource, param: result.param }
  return [{ ...span, action: { call: first?.index ?? call.index, do: "create", body: call.request.body, outcome } }]
}

const listStep = ({ ended_at, index, response, started_at }: CompletedCall): Step<TagAction> => ({
  started_at,
  ended_at,
  action: { call: index, do: "list", tags: listOf(response.body, "data") }
})

/** Returns the final tags that no creation of the history explains. */
const initialTags = (final: ReadonlyArray<Resource>, creations: ReadonlyArray<Request>): ReadonlyArray<Resource> => {
  const created = new Set(
    creations.flatMap(({ outcomes: [first] }) => textOf(first?.response.body, "data", "id") ?? [])
  )
  const pending = new Set(
    creations.filter(({ outcomes }) => outcomes.length === 0)
      .map(({ call }) => foldCase(textOf(call.request.body, "name")?.trim() ?? ""))
  )
  return final.filter((tag) =>
    !created.has(textOf(tag, "id") ?? "") && !pending.has(foldCase(textOf(tag, "name") ?? ""))
  )
}

/** Returns the actions on the tags of each organization. */
export const tagsOf = ({ end, history, requests }: Evidence): ReadonlyArray<ObjectTrace<TagAction>> =>
  history.organizations.map(({ final, id }, organization) => {
    const isOwn = (call: Call, operation: Call["operation"]) =>
      call.operation === operation && call.organization === organization
    const creations = requests.filter(({ call }) => isOwn(call, "tags.create"))
    const lists = history.calls.filter(isCompleted)
      .filter((call) => isOwn(call, "tags.list") && isSuccess(call.response))
    const last: Step<TagAction> = {
      started_at: end,
      ended_at: end + 1,
      action: { call: null, do: "list", tags: final.tags }
    }
    const specification = tags(initialTags(final.tags, creations))
    return {
      name: "set of tags (contract §9.3)",
      id,
      viewOf,
      steps: [...creations.flatMap(creationStep), ...lists.map(listStep), last],
      search: (steps, budget) => search(specification, steps, budget)
    }
  })
