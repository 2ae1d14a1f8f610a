/** People whose network IDs or names change (contract §15.3, §15.6). */
import { assert, describe, it } from "@effect/vitest"
import * as Changes from "@messaging-crm/core/Changes"
import {
  changeIdentity,
  findOrCreateByIdentity,
  IdentityNetworkIdRows,
  IdentityRows,
  isNewToContact
} from "@messaging-crm/core/ContactIdentities"
import {
  ContactRows,
  type Identity,
  type KnownIdentity,
  type LoadedContact,
  type Person
} from "@messaging-crm/core/Contacts"
import { ContactId, IdentityId } from "@messaging-crm/core/Ids"
import { Option } from "effect"
import { contact, context, id, identity, phone } from "./Fixtures.ts"

const present = "+4915187654321"
const { channel_type } = identity

/** Another identity of the same contact, which no change concerns. */
const bystander: Identity = { ...identity, id: IdentityId.make(id(6)), external_id: "page-7" }
const owner: LoadedContact = { ...contact, primary_phone: phone, identities: [identity, bystander] }

const known = (network_id: string, one: Identity = identity): KnownIdentity => ({
  network_id,
  identity: { ...one, contact_id: contact.id, version: 3 },
  contact: owner
})

const person = (fields: Partial<Person> = {}): Person => ({
  channel_type,
  external_id: phone,
  aliases: [],
  phone,
  display_name: null,
  username: null,
  ...fields
})

const removed = (network_id: string) => IdentityNetworkIdRows.remove({ channel_type, name: network_id })
const inserted = (network_id: string) =>
  IdentityNetworkIdRows.insert({ channel_type, name: network_id, identity_id: identity.id })
const aliases = (...network_ids: ReadonlyArray<string>) =>
  Changes.aliases(...network_ids.map((name) => ({ channel_type, name, identity_id: identity.id })))
const written = (set: Partial<Identity>) => IdentityRows.update(known(phone).identity, set)
const contactSet = ({ update = [] }: Changes.Changes) => update.find(({ table }) => table === ContactRows.table)?.set

describe("a changed identity", () => {
  const changed = (
    former: ReadonlyArray<string>,
    to: Partial<Person>,
    found: ReadonlyArray<KnownIdentity>,
    of: Option.Option<LoadedContact> = Option.some(owner)
  ) => changeIdentity(former, person(to), { known: found, contact: of }, context())
  const newNumber = { external_id: present, phone: present }

  it("replaces a former number, and the contact's phone that equals it", () => {
    const changes = changed([phone], newNumber, [known(phone)])
    assert.deepStrictEqual(
      [changes.remove, changes.insert, changes.aliases],
      [removed(phone).remove, inserted(present).insert, undefined]
    )
    assert.deepStrictEqual(changes.update?.[0], written({ external_id: present }).update?.[0])
    assert.deepInclude(contactSet(changes), {
      primary_phone: present,
      identities: [{ ...identity, external_id: present }, bystander]
    })
  })

  it("leaves another phone of the contact, and the phone if the event names none", () => {
    const elsewhere = { ...owner, primary_phone: "+4915199999999" }
    for (const [to, of] of [[newNumber, elsewhere], [{ ...newNumber, phone: null }, owner]] as const) {
      assert.notProperty(contactSet(changed([phone], to, [known(phone)], Option.some(of))), "primary_phone")
    }
    const without = { ...owner, primary_phone: null }
    assert.notProperty(contactSet(changed([phone], newNumber, [known(phone)], Option.some(without))), "primary_phone")
  })

  it("loses its number when the event names another, even if the number is not a former id", () => {
    const changes = changed(["user-1"], { ...newNumber, aliases: ["user-2"] }, [known("user-1")])
    assert.deepStrictEqual(changes.remove, Changes.all(removed("user-1"), removed(phone)).remove)
    assert.deepStrictEqual(changes.insert, inserted(present).insert)
    assert.deepStrictEqual(changes.aliases, aliases("user-2").aliases)
  })

  it("removes only the ids that the identity has", () => {
    const changes = changed([phone, "never-seen"], newNumber, [known(phone)])
    assert.deepStrictEqual(changes.remove, removed(phone).remove)
  })

  it("takes no id that is another person's, and is not merged with them", () => {
    const other = known(present, bystander)
    assert.deepStrictEqual(changed([phone], newNumber, [known(phone), other]), Changes.none)
    // The other person's ID is no ID of this one, so a lost one stays with the other person.
    const both = changed([phone, "page-7"], newNumber, [known(phone), known("page-7", bystander)])
    assert.deepStrictEqual(both.remove, removed(phone).remove)
  })

  it("of an unknown person or contact changes nothing, nor does an event without news", () => {
    assert.deepStrictEqual(changed([phone], newNumber, []), Changes.none)
    assert.deepStrictEqual(changed([phone], newNumber, [known("user-1")]), Changes.none)
    assert.deepStrictEqual(changed([phone], newNumber, [known(phone)], Option.none()), Changes.none)
    assert.deepStrictEqual(changed([phone], {}, [known(phone)]), Changes.none)
  })

  it("with the same ids reports another name, or another alias", () => {
    const renamed = changed([phone], { display_name: "Kimberly" }, [known(phone)])
    assert.deepStrictEqual([renamed.remove, renamed.insert, renamed.aliases], [undefined, undefined, undefined])
    assert.deepStrictEqual(renamed.update?.[0], written({ display_name: "Kimberly" }).update?.[0])
    const named = changed([phone], { aliases: ["user-1"] }, [known(phone)])
    assert.deepStrictEqual([named.remove, named.insert], [undefined, undefined])
    assert.deepStrictEqual(named.aliases, aliases("user-1").aliases)
  })

  it("may move to an id that it has already as an alias", () => {
    const changes = changed([phone], newNumber, [known(phone), known(present)])
    assert.deepStrictEqual([changes.insert, changes.remove], [undefined, removed(phone).remove])
    assert.deepStrictEqual(changes.update?.[0], written({ external_id: present }).update?.[0])
  })
})

describe("a person who is found", () => {
  const found = (
    to: Partial<Person>,
    ids: ReadonlyArray<KnownIdentity>,
    of: Option.Option<LoadedContact> = Option.none()
  ) => findOrCreateByIdentity(person(to), ids, { found: of, free_id: null, is_ambiguous: false }, context())

  it("by every id changes nothing", () => {
    const { changes, result } = found({ aliases: ["user-1"] }, [known(phone), known("user-1")])
    assert.deepStrictEqual(changes, Changes.none)
    assert.deepInclude(result, { identity_id: identity.id, contact_id: contact.id, external_id: phone })
    assert.deepStrictEqual(found({}, [known(phone)], Option.some(owner)).changes, Changes.none)
  })

  it("gets the IDs that are new, and is written, so that an erasure at the same time does not miss them", () => {
    for (const match of [Option.none(), Option.some(owner)]) {
      assert.deepStrictEqual(
        found({ aliases: ["user-1"] }, [known(phone)], match).changes,
        Changes.all(aliases("user-1"), written({}))
      )
    }
  })

  it("gets another name, in the contact and an event too", () => {
    const { changes, result } = found({ display_name: "Kimberly" }, [known(phone)], Option.some(owner))
    assert.strictEqual(result.display_name, "Kimberly")
    assert.deepStrictEqual(changes.update?.[0], written({ display_name: "Kimberly" }).update?.[0])
    assert.deepStrictEqual(contactSet(changes)?.["identities"], [{ ...identity, display_name: "Kimberly" }, bystander])
    const event = JSON.parse(changes.raise?.[0]?.body ?? "")
    assert.deepStrictEqual(event.data, {
      conversation_id: null,
      contact_id: contact.id,
      changed_fields: ["identities"]
    })
  })

  it("without a number gets it as the external id, and as the phone of a contact without one", () => {
    const unnumbered: Identity = { ...identity, external_id: "US.1" }
    const of: LoadedContact = { ...owner, primary_phone: null, identities: [unnumbered, bystander] }
    const ids = [known("US.1", unnumbered)]
    const to = { aliases: ["US.1"], username: "kim" }
    assert.isTrue(isNewToContact(known("US.1", unnumbered), person(to)))
    const { changes, result } = found(to, ids, Option.some(of))
    assert.strictEqual(result.external_id, phone)
    assert.deepStrictEqual(changes.aliases, aliases(phone).aliases)
    assert.deepStrictEqual(changes.update?.[0], written({ username: "kim", external_id: phone }).update?.[0])
    assert.deepInclude(contactSet(changes), {
      primary_phone: phone,
      identities: [{ ...identity, username: "kim" }, bystander]
    })
    const event = JSON.parse(changes.raise?.[0]?.body ?? "")
    assert.sameMembers(event.data.changed_fields, ["identities", "primary_phone"])
    const elsewhere = { ...of, primary_phone: present }
    assert.notProperty(contactSet(found(to, ids, Option.some(elsewhere)).changes), "primary_phone")
    // A number is not replaced without a report of the change, and a contact of another identity does not get it.
    assert.isFalse(isNewToContact(known("US.1"), person({ ...to, username: null, external_id: present })))
    const other = { ...of, id: ContactId.make(id(300)) }
    assert.deepStrictEqual(contactSet(found(to, ids, Option.some(other)).changes), undefined)
  })

  it("is new to the contact only if a name is given that differs", () => {
    const isNew = (names: Partial<Person>) =>
      isNewToContact(known(phone, { ...identity, username: "kim" }), person(names))
    assert.deepStrictEqual(
      [
        isNew({}),
        isNew({ display_name: "Kim", username: "kim" }),
        isNew({ display_name: "Kimberly" }),
        isNew({ username: "kimberly" })
      ],
      [false, false, true, true]
    )
  })
})

it("identities of a contact are in the order of their ids", () => {
  const first = { ...identity, id: IdentityId.make(id(200)), external_id: "later" }
  for (const identities of [[identity, first], [first, identity]]) {
    const { changes } = findOrCreateByIdentity(
      person({ external_id: "new" }),
      [],
      { found: Option.some({ ...owner, identities }), free_id: null, is_ambiguous: false },
      context()
    )
    const { identities: stored = [] } = (contactSet(changes) ?? {}) as { readonly identities?: ReadonlyArray<Identity> }
    const ids = stored.map(({ id }) => id)
    assert.deepStrictEqual(ids, [identity.id, IdentityId.make(id(100)), first.id])
  }
})
