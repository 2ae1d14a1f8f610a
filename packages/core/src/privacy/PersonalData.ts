/**
 * Personal data: everything about one person, exported or erased (contract §20).
 */
import { Context, Effect, Layer, type Stream } from "effect"
import type { ContactNotFound } from "../contacts/Contacts.ts"
import type { CurrentActor } from "../kernel/Actor.ts"
import type { ContactId } from "../kernel/Ids.ts"
import type { ConcurrentChanges } from "../work/Decide.ts"
import { makeErase } from "./ContactErasure.ts"
import { makeExport } from "./ContactExport.ts"

export { ContactExport, export_schema } from "./ContactExport.ts"
export { PersonalDataStore } from "./PersonalDataStore.ts"

// ---------------------------------------------------------- operations

/** Operations on everything that is stored about one of the current actor's contacts. */
export class PersonalData extends Context.Service<PersonalData, {
  /**
   * Returns everything about a contact as the text of one `ContactExport` in JSON,
   * in pieces, so that a person's files need not fit into memory together.
   */
  readonly export: (id: ContactId) => Stream.Stream<string, ContactNotFound, CurrentActor>
  /**
   * Erases a contact: its fields, its network IDs, the texts and files of its messages.
   * Repeating it erases what arrived meanwhile, and changes nothing else.
   */
  readonly erase: (id: ContactId) => Effect.Effect<void, ContactNotFound | ConcurrentChanges, CurrentActor>
}>()("@messaging-crm/core/PersonalData") {
  static readonly layer = Layer.effect(
    PersonalData,
    Effect.gen(function*() {
      return PersonalData.of({ export: yield* makeExport, erase: yield* makeErase })
    })
  )
}
