/** The steps of requests that write an object. */
import { textOf } from "../../Responses.ts"
import { createdId, type Evidence } from "../Evidence.ts"
import { phoneOf, type Request } from "../Requests.ts"
import { contactOwnerOf } from "./ConversationSpecification.ts"
import {
  idIn,
  type ObjectKind,
  type ObjectStep,
  rejectableSteps,
  sideEffectSteps,
  stepsOf,
  stepsOn
} from "./ObjectSteps.ts"
import type { Relations } from "./Relations.ts"
import { upsertSteps } from "./Upserts.ts"

/** Returns the steps of a request that creates an object. */
const creationSteps = (evidence: Evidence, kind: ObjectKind, request: Request): ReadonlyArray<ObjectStep> => {
  const [first] = request.outcomes
  if (first !== undefined && first.response.status >= 400) return []
  return stepsOn(kind, createdId(evidence, request), ...stepsOf(request))
}

/** Returns the steps of an assignment of a conversation, which can also set the owner of its contact. */
const assignmentSteps = ({ contacts }: Relations, request: Request, conversation_id: string | null) => {
  const owner = contactOwnerOf(request.call.request.body)
  return [
    ...stepsOn("conversations", conversation_id, ...stepsOf(request)),
    ...owner === null
      ? []
      : stepsOn("contacts", contacts.get(conversation_id ?? ""), ...sideEffectSteps(request, "set_owner", owner))
  ]
}

/** Returns the step of the start of a conversation, which opens it. */
const startSteps = ({ conversations }: Relations, request: Request) => {
  const { call: { request: { body } }, outcomes: [first] } = request
  const known = conversations.get(`${textOf(body, "channel_id")} ${phoneOf(textOf(body, "phone"))}`)
  const id = first === undefined ? known : textOf(first.response.body, "data", "conversation_id")
  return stepsOn("conversations", id, ...sideEffectSteps(request, "open", null))
}

/** Returns the steps of a request; none if it writes no object of these kinds. */
export const writeSteps = (evidence: Evidence, relations: Relations, request: Request): ReadonlyArray<ObjectStep> => {
  const { operation, request: { path } } = request.call
  switch (operation) {
    case "contacts.create":
      return creationSteps(evidence, "contacts", request)
    case "contacts.update":
    case "contacts.add_note":
      return stepsOn("contacts", idIn(path), ...stepsOf(request))
    case "contacts.upsert":
      return upsertSteps(evidence, request).flatMap(([id, step]) => stepsOn("contacts", id, step))
    case "conversations.assign":
      return assignmentSteps(relations, request, idIn(path))
    case "conversations.close":
    case "conversations.reopen":
      return stepsOn("conversations", idIn(path), ...stepsOf(request))
    case "sends.start":
      return startSteps(relations, request)
    case "webhooks.create":
      return creationSteps(evidence, "webhooks", request)
    case "webhooks.disable":
    case "webhooks.update":
      return stepsOn("webhooks", idIn(path), ...stepsOf(request))
    case "webhooks.replay":
    case "webhooks.test":
      return stepsOn("webhooks", idIn(path), ...rejectableSteps(request))
    default:
      return []
  }
}
