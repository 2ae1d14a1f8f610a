/** The actions on the tags of an organization. */
import { foldCase } from "@messaging-crm/core/Text"
import type { Evidence } from "./Evidence.ts"
import { judge, type Step, type Verdict } from "./Linearizability.ts"
import { outcomeOf } from "./Outcomes.ts"
import { isAnswered, isSuccess, listOf, spanOf, textOf } from "./Requests.ts"
import { type TagAction, tags } from "./TagSpecification.ts"

export interface SearchedTags {
  readonly steps: ReadonlyArray<Step<TagAction>>
  readonly judge: (steps: ReadonlyArray<Step<TagAction>>, budget?: number) => Verdict
}

/** Returns the actions on the tags of each organization. */
export const tagsOf = ({ end, history, requests }: Evidence): ReadonlyArray<SearchedTags> =>
  history.organizations.map(({ final }, organization) => {
    const creations = requests.filter(({ call }) =>
      call.operation === "tags.create" && call.organization === organization
    )
    const steps = creations.flatMap((request): ReadonlyArray<Step<TagAction>> => {
      const { call, outcomes: [first] } = request
      const span = spanOf(request)
      if (span === null) return []
      const answered = first === undefined ? null : outcomeOf(first.answer)
      const outcome = answered && { status: answered.status, tag: answered.resource, param: answered.param }
      return [{ ...span, action: { call: first?.index ?? call.index, do: "create", body: call.request.body, outcome } }]
    })
    const lists = history.calls.filter(isAnswered).flatMap((call): ReadonlyArray<Step<TagAction>> => {
      const isList = call.operation === "tags.list" && call.organization === organization && isSuccess(call.answer)
      if (!isList) return []
      const { answer, ended_at, index, started_at } = call
      return [{ started_at, ended_at, action: { call: index, do: "list", tags: listOf(answer.body, "data") } }]
    })
    const created = new Set(
      creations.flatMap(({ outcomes: [first] }) => textOf(first?.answer.body, "data", "id") ?? [])
    )
    const unanswered = new Set(
      creations.filter(({ outcomes }) => outcomes.length === 0)
        .map(({ call }) => foldCase(textOf(call.request.body, "name")?.trim() ?? ""))
    )
    const before = final.tags.filter((tag) =>
      !created.has(textOf(tag, "id") ?? "") && !unanswered.has(foldCase(textOf(tag, "name") ?? ""))
    )
    const specification = tags(before)
    const last: Step<TagAction> = {
      started_at: end,
      ended_at: end + 1,
      action: { call: null, do: "list", tags: final.tags }
    }
    return { steps: [...steps, ...lists, last], judge: (some, budget) => judge(specification, some, budget) }
  })
