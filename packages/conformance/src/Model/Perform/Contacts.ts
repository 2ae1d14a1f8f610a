/** The commands of the model test about contacts and their tags. */
import {
  AddNote,
  Contacts as ContactOperations,
  CreateContact,
  UpdateContact,
  type WritableContact
} from "@messaging-crm/core/Contacts"
import { ContactUpserts, UpsertContacts } from "@messaging-crm/core/ContactUpserts"
import { TagId } from "@messaging-crm/core/Ids"
import { PersonalData as PersonalDataOperations } from "@messaging-crm/core/PersonalData"
import { CreateTag, Tags } from "@messaging-crm/core/Tags"
import { Effect, Result } from "effect"
import { agree, agreeOnLists, agreeOnPages, rejection } from "../Agreement.ts"
import { choose, chooseContact, chooseMember, secondsAgo } from "../Choices.ts"
import type { CommandHandlers } from "../CommandHandlers.ts"
import type { Command, ContactInput } from "../Commands.ts"
import * as Contacts from "../Contacts.ts"
import type { ModelScene } from "../ModelScene.ts"
import * as PersonalData from "../PersonalData.ts"
import { ok, rejected, showContact } from "../Results.ts"

/** Returns the input of the service's operation, and the same input for the model. */
const chooseFields = (scene: ModelScene, { custom_values, owner, plain = {}, tags }: ContactInput) => {
  const chosen = tags?.map((tag) => choose(scene, tag, (organization) => organization.tags))
  const values = custom_values && Object.fromEntries(
    custom_values.map(({ field, value }) => [choose(scene, field, ({ fields }) => fields).id, value])
  )
  const written = owner === undefined ? plain : { ...plain, owner_user_id: chooseMember(scene, owner) }
  const custom = values === undefined ? {} : { custom_values: values }
  const tag_ids = tags === undefined ? {} : { tag_ids: chosen?.map(({ id }) => TagId.make(id)) ?? null }
  const modelTags = tags === undefined ? {} : { tags: chosen?.map(({ row }) => row) ?? [] }
  const input = { ...written, ...custom, ...tag_ids } as WritableContact // The generator keeps to its values.
  return { input, modelInput: { plain: written, ...custom, ...modelTags } }
}

/** Spellings of one person's email. */
const emails = {
  "+4915100000001": "kim@acme.example",
  "+5511987654321": "KIM@Acme.example",
  "+551187654321": "kim@ACME.example"
}

/** Upserts a person's contact in the model, and returns the service's input and the expected result. */
const chooseUpsert = (
  scene: ModelScene,
  { channel_type, match: by, people }: Command<"upsertContacts">,
  { contact, value: number }: Command<"upsertContacts">["people"][number]
) => {
  const { input, modelInput } = chooseFields(scene, contact)
  // One contact can have two identities, whose upserts would come in any order.
  const external_id = people[0]?.value ?? number
  const value = by === "primary_email" ? emails[number] : by === "external_id" ? external_id : number
  const match = by === "external_id" ? { by, channel_type, value } : { by, value }
  const set = by === "external_id" ? {} : { [by]: value }
  const expected = Contacts.upsertContact(scene.ours, match, {
    ...modelInput,
    plain: { ...modelInput.plain, ...set }
  })
  return { input: { ...input, [by]: value }, expected }
}

export const contactHandlers = {
  createTag: (scene, { color, name }) =>
    agree(
      scene,
      Contacts.createTag(scene.ours, name, color),
      Tags.use(({ create }) => create(CreateTag.make({ name, color })))
    ),

  createContact: (scene, { contact }) => {
    const { input, modelInput } = chooseFields(scene, contact)
    const expected = Contacts.createContact(scene.ours, modelInput)
    return agree(scene, expected, ContactOperations.use(({ create }) => create(CreateContact.make(input))))
  },

  upsertContacts: (scene, command) =>
    Effect.gen(function*() {
      const { channel_type, match, people } = command
      const upserts = people.map((person) => chooseUpsert(scene, command, person))
      const contacts = upserts.map(({ input }) => input)
      const input = UpsertContacts.make({ match, contacts, ...(match === "external_id" ? { channel_type } : {}) })
      const upsert = Effect.map(
        ContactUpserts.use((upserts) => upserts.upsert(input)),
        (results) => results.map(Result.match({ onFailure: rejection, onSuccess: ok }))
      )
      yield* agree(scene, ok(upserts.map(({ expected }) => expected)), upsert)
      yield* agreeOnLists(scene, [])
    }),

  getContact: (scene, command) => {
    const { contact, id } = chooseContact(scene, command.id)
    const expected = contact === undefined ? rejected("ContactNotFound") : ok(showContact(contact))
    return agree(scene, expected, ContactOperations.use(({ get }) => get(id)))
  },

  updateContact: (scene, command) => {
    const { contact, id } = chooseContact(scene, command.id)
    const { input, modelInput } = chooseFields(scene, command.contact)
    const expected = Contacts.updateContact(scene.ours, contact, modelInput)
    return agree(scene, expected, ContactOperations.use(({ update }) => update(id, UpdateContact.make(input))))
  },

  editTags: (scene, command) => {
    const { contact, id } = chooseContact(scene, command.id)
    const chosen = (choices: typeof command.add) => choices.map((choice) => choose(scene, choice, ({ tags }) => tags))
    const added = chosen(command.add)
    const removed = chosen(command.remove).filter(({ id }) => !added.some((tag) => tag.id === id))
    const expected = Contacts.editTags(scene.ours, contact, {
      add: added.map(({ row }) => row),
      remove: removed.map(({ row }) => row)
    })
    const ids = (tags: typeof added) => tags.map(({ id }) => TagId.make(id))
    const input = UpdateContact.make({ add_tag_ids: ids(added), remove_tag_ids: ids(removed) })
    return agree(scene, expected, ContactOperations.use(({ update }) => update(id, input)))
  },

  addNote: (scene, command) => {
    const { contact, id } = chooseContact(scene, command.id)
    const expected = Contacts.addNote(scene.ours, contact, command.text)
    const input = AddNote.make({ text: command.text })
    return agree(scene, expected, ContactOperations.use(({ addNote }) => addNote(id, input)))
  },

  eraseContact: (scene, command) =>
    Effect.gen(function*() {
      const { contact, id } = chooseContact(scene, command.id)
      const expected = PersonalData.erase(scene.ours, contact, scene.names.idOf)
      yield* agree(scene, expected, PersonalDataOperations.use(({ erase }) => erase(id)))
      yield* agreeOnLists(scene, scene.ours.conversations)
    }),

  listContacts: (scene, { owner, page_size, tag, updated_seconds_ago, ...rest }) => {
    const chosen = tag === null ? null : choose(scene, tag, ({ tags }) => tags)
    const updated_since = updated_seconds_ago === null ? null : secondsAgo(scene, updated_seconds_ago)
    const filters = { ...rest, owner_user_id: chooseMember(scene, owner), updated_since }
    const tag_id = chosen === null ? null : TagId.make(chosen.id)
    const expected = Contacts.listContacts(scene.ours, { ...filters, tag: chosen && (chosen.row ?? "unknown") })
    return agreeOnPages(
      scene,
      page_size,
      expected,
      (cursor) => ContactOperations.use(({ list }) => list({ ...filters, tag_id, cursor, page_size }))
    )
  }
} satisfies Partial<CommandHandlers>
