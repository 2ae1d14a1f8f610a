/** `contacts export` and `contacts erase`: everything about one person. */
import { ContactId } from "@messaging-crm/core/Ids"
import { export_schema, PersonalData } from "@messaging-crm/core/PersonalData"
import { Effect, Exit, FileSystem, Option, Stream } from "effect"
import { Command, Flag, Prompt } from "effect/cli"
import * as Admin from "../cli/Admin.ts"
import * as Flags from "../cli/Flags.ts"
import * as Print from "../cli/Print.ts"
import { visible } from "../cli/Visible.ts"

const contact = Flags.id("contact", ContactId, "ID of the contact")

const absent = Admin.reject("No contact of this organization has this ID. Find the ID with GET /contacts?query=.")

/** Writes a piece of text, and waits until its reader has received it, so that a slow one does not fill the memory. */
const toStdout = (piece: string) =>
  Effect.callback<void>((resume) => void process.stdout.write(visible(piece), () => resume(Effect.void)))

/** Writes pieces of text to a new file that only its owner can read. If that fails, removes the file. */
const writeNewFile = Effect.fnUntraced(function*<E, R>(path: string, pieces: Stream.Stream<string, E, R>) {
  const files = yield* FileSystem.FileSystem
  yield* Effect.acquireUseRelease(
    files.writeFileString(path, "", { flag: "wx", mode: 0o600 }),
    // Not a sink, whose error would name the descriptor instead of the path.
    () => Stream.runForEach(pieces, (piece) => files.writeFileString(path, piece, { flag: "a" })),
    (_, exit) => Exit.isSuccess(exit) ? Effect.void : Effect.ignore(files.remove(path))
  )
})

export const exportContact = Command.make(
  "export",
  {
    organization: Admin.organization,
    contact,
    output: Flag.String("output").pipe(
      Flags.optional("New file for the document", "stdout")
    )
  },
  Effect.fnUntraced(function*({ contact, organization, output }) {
    const pieces = Stream.concat(
      Stream.unwrap(PersonalData.useSync((data) => data.export(contact))),
      Stream.make("\n")
    )
    const write = Option.match(output, {
      onNone: () => Stream.runForEach(pieces, toStdout),
      onSome: (path) => writeNewFile(path, pieces)
    })
    yield* Admin.asOperator(organization, write).pipe(
      Effect.catchTag("ContactNotFound", absent)
    )
  })
).pipe(
  Command.withDescription("Export all data of a person as one JSON document, with files in base64"),
  Command.withExamples([
    {
      command: "messaging-crm contacts export --organization $ORGANIZATION_ID --contact $CONTACT_ID --output kim.json"
    },
    { command: "messaging-crm contacts export --organization $ORGANIZATION_ID --contact $CONTACT_ID > kim.json" }
  ])
)

export const exportSchema = Command.make(
  "export-schema",
  {},
  () => Print.line(JSON.stringify(export_schema, null, 2))
).pipe(
  Command.withDescription("Print the JSON Schema of an export"),
  Command.withExamples([
    { command: "messaging-crm contacts export-schema > contact-export.schema.json" },
    { command: "messaging-crm contacts export-schema | head" }
  ])
)

/** Asks on the terminal. Without a terminal, fails. */
const confirm = Effect.fnUntraced(function*(id: ContactId) {
  if (!process.stdin.isTTY || !process.stdout.isTTY) {
    return yield* new Admin.Rejected({
      message:
        "The erasure requires confirmation. Run the command in a terminal, or add --yes to skip the confirmation."
    })
  }
  const message = `Permanently erase the data of contact ${id}, with the texts and files of all messages?`
  if (!(yield* Prompt.run(Prompt.Confirm({ message })))) {
    return yield* new Admin.Rejected({ message: "Nothing was erased." })
  }
})

export const eraseContact = Command.make(
  "erase",
  {
    organization: Admin.organization,
    contact,
    yes: Flag.Boolean("yes").pipe(Flags.withDefault(false, "Erase without a confirmation prompt")),
    json: Print.json
  },
  Effect.fnUntraced(function*({ contact, json, organization, yes }) {
    if (!yes) yield* confirm(contact)
    yield* Admin.asOperator(organization, PersonalData.use((data) => data.erase(contact))).pipe(
      Effect.catchTag("ContactNotFound", absent)
    )
    yield* Print.result(json, { id: contact }, `The data of contact ${contact} is erased.`)
  })
).pipe(
  Command.withDescription(
    "Permanently erase a person's data: fields, network IDs, texts, and files; messages remain as [erased] placeholders"
  ),
  Command.withExamples([
    { command: "messaging-crm contacts erase --organization $ORGANIZATION_ID --contact $CONTACT_ID" },
    { command: "messaging-crm contacts erase --organization $ORGANIZATION_ID --contact $CONTACT_ID --yes --json" }
  ])
)
