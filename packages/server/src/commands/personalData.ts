/** `contacts export` and `contacts erase`: everything about one person. */
import { ContactId } from "@messaging-crm/core/Ids"
import { export_schema, PersonalData } from "@messaging-crm/core/PersonalData"
import { Effect, FileSystem, Option, Stream } from "effect"
import { Command, Flag } from "effect/cli"
import * as Admin from "../Admin.ts"
import * as Print from "../Print.ts"
import { visible } from "../Visible.ts"

const contact = Flag.String("contact").pipe(
  Flag.withSchema(ContactId),
  Flag.withDescription("The id of the contact")
)

const absent = Admin.refuse("The organization has no such contact.")

/** Makes a function that writes pieces of text to a new file that only its owner may read, or to stdout. */
const writer = Effect.fnUntraced(function*(output: Option.Option<string>) {
  if (Option.isNone(output)) return (piece: string) => Effect.sync(() => process.stdout.write(visible(piece)))
  const files = yield* FileSystem.FileSystem
  let flag: "a" | "wx" = "wx"
  return (piece: string) =>
    Effect.andThen(
      files.writeFileString(output.value, piece, { flag, mode: 0o600 }),
      Effect.sync(() => {
        flag = "a"
      })
    )
})

export const exportContact = Command.make(
  "export",
  {
    organization: Admin.organization,
    contact,
    output: Flag.String("output").pipe(
      Flag.optional,
      Flag.withDescription("A new file for the document, instead of stdout")
    )
  },
  Effect.fnUntraced(function*({ contact, organization, output }) {
    const write = yield* writer(output)
    const pieces = Stream.unwrap(PersonalData.useSync((data) => data.export(contact)))
    yield* Admin.asOperator(organization, Stream.runForEach(Stream.concat(pieces, Stream.make("\n")), write)).pipe(
      Effect.catchTag("ContactNotFound", absent)
    )
  })
).pipe(
  Command.withDescription("Print everything about a person as one JSON document, with their files in base64")
)

export const exportSchema = Command.make(
  "export-schema",
  {},
  () => Print.line(JSON.stringify(export_schema, null, 2))
).pipe(Command.withDescription("Print the JSON Schema of an export"))

export const eraseContact = Command.make(
  "erase",
  { organization: Admin.organization, contact, json: Print.json },
  Effect.fnUntraced(function*({ contact, json, organization }) {
    yield* Admin.asOperator(organization, PersonalData.use((data) => data.erase(contact))).pipe(
      Effect.catchTag("ContactNotFound", absent)
    )
    yield* Print.result(json, { id: contact }, `Contact ${contact} is erased.`)
  })
).pipe(
  Command.withDescription(
    "Erase a person for good: fields, names, texts and files; conversations keep their shape, with [erased] in each message"
  )
)
