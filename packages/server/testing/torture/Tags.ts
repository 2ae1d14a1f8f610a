/** The actions on the tags of an organization. */
import { foldCase } from "@messaging-crm/core/Text"
import type { Evidence } from "./Evidence.ts"
import { search, type SearchResult, type Step } from "./Linearizability.ts"
import { outcomeOf } from "./Outcomes.ts"
import { isCompleted, isSuccess, listOf, spanOf, textOf } from "./Requests.ts"
import { type TagAction, tags } from "./TagSpecification.ts"

export interface TagHistory {
  readonly steps: ReadonlyArray<Step<TagAction>>
  readonly search: (steps: ReadonlyArray<Step<TagAction>>, budget?: number) => SearchResult
}

/** Returns the actions on the tags of each organization. */
export const tagsOf = ({ end, history, requests }: Evidence): ReadonlyArray<TagHistory> =>
  history.organizations.map(({ final }, organization) => {
    const creations = requests.filter(({ call }) =>
      call.operation === "tags.create" && call.organization === organization
    )
    const steps = creations.flatMap((request): ReadonlyArray<Step<TagAction>> => {
      const { call, outcomes: [first] } = request
      const span = spanOf(request)
      if (span === null) return []
      const result = first === undefined ? null : outcomeOf(first.response)
      const outcome = result && { status: result.status, tag: result.resource, param: result.param }
      return [{ ...span, action: { call: first?.index ?? call.index, do: "create", body: call.request.body, outcome } }]
    })
    const lists = history.calls.filter(isCompleted).flatMap((call): ReadonlyArray<Step<TagAction>> => {
      const isList = call.operation === "tags.list" && call.organization === organization && isSuccess(call.response)
      if (!isList) return []
      const { response, ended_at, index, started_at } = call
      return [{ started_at, ended_at, action: { call: index, do: "list", tags: listOf(response.body, "data") } }]
    })
    const created = new Set(
      creations.flatMap(({ outcomes: [first] }) => textOf(first?.response.body, "data", "id") ?? [])
    )
    const pending = new Set(
      creations.filter(({ outcomes }) => outcomes.length === 0)
        .map(({ call }) => foldCase(textOf(call.request.body, "name")?.trim() ?? ""))
    )
    const before = final.tags.filter((tag) =>
      !created.has(textOf(tag, "id") ?? "") && !pending.has(foldCase(textOf(tag, "name") ?? ""))
    )
    const specification = tags(before)
    const last: Step<TagAction> = {
      started_at: end,
      ended_at: end + 1,
      action: { call: null, do: "list", tags: final.tags }
    }
    return { steps: [...steps, ...lists, last], search: (some, budget) => search(specification, some, budget) }
  })
