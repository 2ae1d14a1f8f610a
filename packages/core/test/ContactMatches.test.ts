/** The contact with a number is found, whatever other operations change between two reads. */
import { assert, it } from "@effect/vitest"
import { noon } from "@messaging-crm/conformance/Fixtures"
import { makeFindMatch } from "@messaging-crm/core/ContactMatches"
import { ContactStore, emptyContact } from "@messaging-crm/core/Contacts"
import { ContactId, OrganizationId } from "@messaging-crm/core/Ids"
import { Secrets } from "@messaging-crm/core/Secrets"
import { Effect, Layer, Option } from "effect"

const organization_id = OrganizationId.make("019aa0c2-5b00-7000-8000-000000000001")
const id = ContactId.make("019aa0c2-5b00-7000-8000-000000000002")
const [short, long] = ["+541123456789", "+5491123456789"]

/** A store with one contact, whose number another operation respells after each read. */
const respelling = Layer.suspend(() => {
  const contact = { ...emptyContact, id, updated_at: noon, version: 1 }
  let phone = long
  const afterRead = <A>(found: A): A => {
    phone = phone === long ? short : long
    return found
  }
  return Layer.mock(ContactStore, {
    load: () => Effect.sync(() => afterRead(Option.some({ ...contact, primary_phone: phone }))),
    match: (_, __, values) =>
      Effect.sync(() =>
        afterRead(
          values.includes(phone)
            ? Option.some({ ...contact, primary_phone: phone, is_ambiguous: false })
            : Option.none()
        )
      )
  })
})

it.effect("a contact is found while its number changes from one spelling to the other", () =>
  Effect.gen(function*() {
    const find = yield* makeFindMatch
    for (const number of [short, long, short]) {
      const { found, free_id } = yield* find(organization_id, "primary_phone", number)
      assert.isTrue(Option.isSome(found))
      assert.isNull(free_id)
    }
  }).pipe(Effect.provide(Layer.provideMerge(respelling, Secrets.layer))))
