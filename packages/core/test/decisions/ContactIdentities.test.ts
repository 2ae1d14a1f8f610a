import { assert, describe, it } from "@effect/vitest"
import * as Changes from "@messaging-crm/core/Changes"
import * as ContactIdentities from "@messaging-crm/core/ContactIdentities"
import * as Contacts from "@messaging-crm/core/Contacts"
import { ContactId, IdentityId } from "@messaging-crm/core/Ids"
import { Option } from "effect"
import { after, contact, context, id, identity, phone } from "./Fixtures.ts"

describe("a person", () => {
  const person: Contacts.Person = {
    channel_type: "phone_messaging",
    external_id: phone,
    aliases: [],
    phone,
    display_name: null,
    username: null
  }
  const known: Contacts.KnownIdentity = {
    name: phone,
    identity: { ...identity, contact_id: contact.id, version: 2 },
    contact
  }
  const find = (
    given: Partial<Contacts.Person>,
    found: ReadonlyArray<Contacts.KnownIdentity>,
    withPhone: Option.Option<Contacts.LoadedContact> = Option.none()
  ) => ContactIdentities.findOrCreateByIdentity({ ...person, ...given }, found, withPhone, context())
  const searchable = (identities: ReadonlyArray<Contacts.Identity>) => ({
    identities,
    search_text: Contacts.searchText({ ...contact, identities })
  })
  const renamed = (set: Partial<Pick<Contacts.Identity, "display_name" | "external_id" | "username">>) =>
    Changes.all(
      ContactIdentities.IdentityRows.update(known.identity, set),
      Contacts.ContactRows.update(contact, searchable([{ ...identity, ...set }]))
    )
  const who = { identity_id: identity.id, contact_id: contact.id }

  it("is found by a name, and nothing unchanged is written", () => {
    assert.deepStrictEqual(find({}, [known]), { answer: who, changes: Changes.none })
    assert.deepStrictEqual(find({ display_name: "Kim" }, [known]), { answer: who, changes: Changes.none })
  })

  it("gets a new display name and a new alias", () => {
    assert.deepStrictEqual(find({ display_name: "Kimberley", username: "kim" }, [known], Option.some(contact)), {
      answer: who,
      changes: renamed({ display_name: "Kimberley", username: "kim" })
    })
    assert.deepStrictEqual(find({ external_id: "own", aliases: [phone, "new", "new"] }, [known]), {
      answer: who,
      changes: Changes.all(
        Changes.aliases(
          { channel_type: "phone_messaging", name: "own", identity_id: identity.id },
          { channel_type: "phone_messaging", name: "new", identity_id: identity.id }
        ),
        ContactIdentities.IdentityRows.update(known.identity, {})
      )
    })
  })

  const made: Contacts.Identity = { ...identity, id: IdentityId.make(id(100)), display_name: null }
  const names = (...given: ReadonlyArray<string>) =>
    Changes.all(
      ...given.map((name) =>
        ContactIdentities.IdentityNetworkIdRows.insert({ channel_type: "phone_messaging", name, identity_id: made.id })
      )
    )

  it("without an identity becomes a contact with an identity under every name", () => {
    const contact_id = ContactId.make(id(101))
    assert.deepStrictEqual(find({ aliases: ["own"] }, []), {
      answer: { identity_id: made.id, contact_id },
      changes: Changes.all(
        Contacts.insert({ ...Contacts.newContact(contact_id, { phone }, after(9)), identities: [made] }),
        ContactIdentities.IdentityRows.insert({ ...made, contact_id }),
        names(phone, "own")
      )
    })
  })

  it("becomes an identity of the contact with the same number", () => {
    assert.deepStrictEqual(find({}, [], Option.some(contact)), {
      answer: { identity_id: made.id, contact_id: contact.id },
      changes: Changes.all(
        Contacts.ContactRows.update(contact, searchable([identity, made])),
        ContactIdentities.IdentityRows.insert({ ...made, contact_id: contact.id }),
        names(phone)
      )
    })
  })

  const moved = "+4915187654321"
  const change = (
    found: ReadonlyArray<Contacts.KnownIdentity>,
    given: Partial<Contacts.Person> = {},
    loaded: Option.Option<Contacts.LoadedContact> = Option.some(contact)
  ) =>
    ContactIdentities.changeIdentity(
      [phone],
      { ...person, external_id: moved, phone: moved, ...given },
      found,
      loaded,
      context()
    )
  const name = (value: string) => ({ channel_type: "phone_messaging", name: value, identity_id: identity.id } as const)

  it("with a new number is found by it, and no longer by the former one", () => {
    const identities = [{ ...identity, display_name: "Kimberley", external_id: moved }]
    const after_move = { ...contact, identities, primary_phone: moved, updated_at: after(9) }
    assert.deepStrictEqual(
      change([known], { display_name: "Kimberley" }),
      Changes.all(
        ContactIdentities.IdentityNetworkIdRows.remove(name(phone)),
        ContactIdentities.IdentityNetworkIdRows.insert(name(moved)),
        ContactIdentities.IdentityRows.update(known.identity, { display_name: "Kimberley", external_id: moved }),
        Contacts.ContactRows.update(contact, {
          identities,
          primary_phone: moved,
          updated_at: after(9),
          search_text: Contacts.searchText(after_move)
        })
      )
    )
  })

  it("whose former name was an alias keeps the external id, and the contact's other number", () => {
    const loaded = { ...contact, primary_phone: null }
    const aliased = { ...known, identity: { ...known.identity, external_id: "own" } }
    const changes = change([aliased], {}, Option.some(loaded))
    assert.deepStrictEqual(
      changes,
      Changes.all(
        ContactIdentities.IdentityNetworkIdRows.remove(name(phone)),
        ContactIdentities.IdentityNetworkIdRows.insert(name(moved)),
        ContactIdentities.IdentityRows.update(aliased.identity, {}),
        Contacts.ContactRows.update(loaded, { identities: [identity], updated_at: after(9) })
      )
    )
  })

  it("changes nothing when no identity has the former name, or another identity has the new one", () => {
    const other = { ...known.identity, id: IdentityId.make(id(44)) }
    assert.deepStrictEqual(change([]), Changes.none)
    assert.deepStrictEqual(change([{ ...known, name: moved }]), Changes.none)
    assert.deepStrictEqual(change([known], {}, Option.none()), Changes.none)
    assert.deepStrictEqual(change([known, { ...known, name: moved, identity: other }]), Changes.none)
    // Both names lead to the same person: only the former goes.
    const both = change([known, { ...known, name: moved }])
    assert.isUndefined(both.insert)
    assert.lengthOf(both.remove ?? [], 1)
  })
})
