import type { ColumnRepeated, ColumnUnknown, KeyUnsuitable } from "@messaging-crm/core/ContactTable"
import { Country, DefaultCountry } from "@messaging-crm/core/Countries"
import { Effect, FileSystem, Option, Ref, Stdio, Stream } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import * as Admin from "../cli/Admin.ts"
import type * as Csv from "../cli/Csv.ts"
import type { BadLine, BatchOutcome, ImportOptions } from "../cli/CsvImport.ts"
import * as Flags from "../cli/Flags.ts"
import * as Print from "../cli/Print.ts"
import { oneLine } from "../cli/Visible.ts"
import { eraseContact, exportContact, exportSchema } from "./personalData.ts"

interface Summary {
  readonly created: number
  readonly unchanged: number
  readonly failed: number
  readonly updated: number
  /** The first lines that were not imported. */
  readonly errors: ReadonlyArray<BadLine>
}

const errors_max = 100

const nothing: Summary = { created: 0, unchanged: 0, failed: 0, updated: 0, errors: [] }

const plus = (summary: Summary, { bad, created, unchanged, updated }: BatchOutcome): Summary => ({
  created: summary.created + created,
  unchanged: summary.unchanged + unchanged,
  failed: summary.failed + bad.length,
  updated: summary.updated + updated,
  errors: [...summary.errors, ...bad].slice(0, errors_max)
})

const wordsOf = ({ line, message }: BadLine): string => `line ${line}: ${oneLine(message)}`

const counts = ({ created, failed, unchanged, updated }: Summary): string =>
  `${created} created, ${updated > 0 ? `${updated} updated, ` : ""}${unchanged} unchanged, ${failed} invalid`

const help = `Import contacts from a CSV file

  The first line names the columns: built-in fields of contacts (first_name, primary_phone, owner_user_id, notes ...),
  custom_values.KEY for a custom field, tags for names of tags, and tag_ids for their IDs. Separate multiple tags with
  semicolons. An empty cell sets nothing. If a column is unknown, nothing is imported.

  Without --update, an import only creates contacts. To continue an interrupted import, import the same file again.
  If a value of a line has changed, the line creates another contact, unless --key names the column that identifies
  a contact.

  With --update, --key must be primary_phone or primary_email. For each
  line, the import then updates the contact that has the line's value in this column, or creates one.

  The command reports invalid lines, imports the rest, and exits with code 1.`

// Written here, because help is shown without the parser.
const delimiters = ["comma", "semicolon", "tab"] as const satisfies ReadonlyArray<Csv.Delimiter>

/** Returns the bytes of a file and its size, or those of stdin for `-`, whose size is unknown. */
const open = Effect.fnUntraced(function*(file: string) {
  if (file === "-") return { bytes: (yield* Stdio.Stdio).stdin, size: null }
  const files = yield* FileSystem.FileSystem
  const { size, type } = yield* files.stat(file)
  if (type === "Directory") {
    return yield* new Admin.Rejected({ message: `${file} is a directory. Give the path of a CSV file.` })
  }
  return { bytes: files.stream(file), size: Number(size) }
})

/** Creates the file for bad lines and makes a function that appends to it, or does nothing where no file is given. */
const badLinesWriter = Effect.fnUntraced(function*(file: Option.Option<string>) {
  if (Option.isNone(file)) return () => Effect.void
  const files = yield* FileSystem.FileSystem
  yield* files.writeFileString(file.value, "", { flag: "wx" })
  return ({ bad }: BatchOutcome) =>
    files.writeFileString(file.value, bad.map((line) => `${wordsOf(line)}\n`).join(""), { flag: "a" })
})

const rejections = {
  ColumnRepeated: ({ column }: ColumnRepeated) =>
    new Admin.Rejected({ message: `Two columns set the same field: ${column}. Remove one of them.` }),
  ColumnUnknown: ({ column }: ColumnUnknown) =>
    new Admin.Rejected({ message: `Unknown column: "${column}". Nothing was imported. Rename or remove the column.` }),
  FileEmpty: Admin.reject("The file is empty. Its first line must name the columns."),
  KeyUnsuitable: ({ column }: KeyUnsuitable) =>
    new Admin.Rejected({
      message: `--key must be a column of the file with one value per cell, not "${column}".`
    }),
  RowEndless: ({ line }: Csv.RowEndless) =>
    new Admin.Rejected({
      message:
        `line ${line}: The row is unterminated, probably because of an unclosed quote. Rows already imported are kept.`
    })
}

const noteErrors = ({ errors }: Summary) =>
  Effect.forEach(errors, (error) => Print.note(wordsOf(error)), { discard: true })

const noteInterruption = (summary: Summary) =>
  Effect.andThen(
    noteErrors(summary),
    Print.note(`The import was interrupted: ${counts(summary)} so far. Run it again to import the rest.`)
  )

/** Imports the rows of a file, shows the progress, and returns the counts. An interruption prints those so far. */
const importRows = Effect.fnUntraced(function*(
  { bytes, size }: Effect.Success<ReturnType<typeof open>>,
  bad_lines: Option.Option<string>,
  options: ImportOptions
) {
  const bytes_read = yield* Ref.make(0)
  const total = yield* Ref.make(nothing)
  const { importCsv } = yield* Effect.promise(() => import("../cli/CsvImport.ts"))
  const counted = Stream.tap(bytes, ({ length }) => Ref.update(bytes_read, (sum) => sum + length))
  const batches = yield* importCsv(counted, options)
  const writeBadLines = yield* badLinesWriter(bad_lines)
  const addBatch = Effect.fnUntraced(function*(batch: BatchOutcome) {
    const summary = yield* Ref.updateAndGet(total, (sum) => plus(sum, batch))
    const part = size === null ? null : (yield* Ref.get(bytes_read)) / size
    yield* Print.progress("Contacts", part, counts(summary))
  })
  yield* batches.pipe(
    Stream.tap(writeBadLines),
    Stream.runForEach(addBatch),
    Effect.ensuring(Print.progressed),
    Effect.onError(() => Effect.flatMap(Ref.get(total), noteInterruption))
  )
  return yield* Ref.get(total)
})

const importContacts = Command.make(
  "import",
  {
    organization: Admin.organization,
    file: Argument.String("file").pipe(
      Argument.withDescription("CSV file in UTF-8, or - for stdin; its first line names the columns")
    ),
    key: Flag.String("key").pipe(
      Flags.optional("Column that identifies a contact", "all values of a line")
    ),
    delimiter: Flag.Literals("delimiter", delimiters).pipe(
      Flags.optional("Delimiter of cells", "detected from the first line")
    ),
    bad_lines: Flag.String("bad-lines").pipe(
      Flags.optional("New file for all invalid lines", `the first ${errors_max} on stderr`)
    ),
    country: Flag.String("country").pipe(
      Flag.withSchema(Country),
      Flags.optional(
        "Country whose phone numbers are read as they are dialed within it, such as DE",
        "that of the organization"
      )
    ),
    update: Flag.Boolean("update").pipe(Flags.withDefault(false, "Update the contacts that --key identifies")),
    json: Print.json
  },
  Effect.fnUntraced(function*({ bad_lines, country, delimiter, file, json, key, organization, update }) {
    const given = Option.getOrNull(key)
    const updatedBy = given === "primary_phone" || given === "primary_email" ? given : null
    if (update && updatedBy === null) {
      return yield* new Admin.Rejected({ message: "--update requires --key primary_phone or --key primary_email." })
    }
    const csv = yield* open(file)
    const options: ImportOptions = { delimiter, key: given, update: update ? updatedBy : null }
    const imported = Effect.scoped(importRows(csv, bad_lines, options))
    const inCountry = Option.match(country, {
      onNone: () => imported,
      onSome: (one) => Effect.provideService(imported, DefaultCountry, one)
    })
    const summary = yield* Admin.asOperator(organization, inCountry).pipe(
      Effect.catchTags(rejections)
    )
    yield* noteErrors(summary)
    yield* Print.result(json, summary, `${counts(summary)}.`)
    if (summary.failed > 0) {
      return yield* new Admin.Rejected({
        message: summary.failed === 1 ? "1 line was not imported." : `${summary.failed} lines were not imported.`
      })
    }
  })
).pipe(
  Command.withShortDescription("Import contacts from a CSV file"),
  Command.withDescription(help),
  Command.withExamples([
    { command: "messaging-crm contacts import contacts.csv --organization $ORGANIZATION_ID --key primary_email" },
    {
      command:
        "gunzip -c contacts.csv.gz | messaging-crm contacts import - --organization $ORGANIZATION_ID --bad-lines invalid.txt"
    }
  ])
)

export const contacts = Command.make("contacts").pipe(
  Command.withDescription("Import, export, and erase contacts of an organization"),
  Command.withSubcommands([importContacts, exportContact, exportSchema, eraseContact])
)
