import type { ColumnRepeated, ColumnUnknown, KeyUnsuitable } from "@messaging-crm/core/ContactTable"
import { Country, DefaultCountry } from "@messaging-crm/core/Countries"
import { Clock, Effect, FileSystem, Option, Ref, Stdio, Stream } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import * as Admin from "../cli/Admin.ts"
import type * as Csv from "../cli/Csv.ts"
import type { BadLines, BatchOutcome, ImportOptions } from "../cli/CsvImport.ts"
import * as Flags from "../cli/Flags.ts"
import type { ColumnsDuplicated, ColumnsUnknown, MapInvalid, Mapping } from "../cli/ImportColumns.ts"
import * as Report from "../cli/ImportReport.ts"
import * as Print from "../cli/Print.ts"

const help = `Import contacts from a CSV file

  The first line names the columns: built-in fields of contacts (first_name, primary_phone, owner_user_id, notes ...),
  custom_values.KEY for a custom field, tags for names of tags, and tag_ids for their IDs. Separate multiple tags with
  semicolons. An empty cell sets nothing. Case, spaces, and punctuation of a field's name do not matter.

  Exports of Google Contacts, Outlook, HubSpot, Salesforce, Zammad, and Chatwoot are recognized by their columns. The
  command prints the field of each column, and the columns that it ignores. If a column is unknown, nothing is imported:
  choose its field with --map "COLUMN=FIELD", or ignore it with --map "COLUMN=".

  Without --update, an import only creates contacts. To continue an interrupted import, import the same file again.
  If a value of a line has changed, the line describes another contact, unless --key names the column that identifies
  a contact.

  A line is not imported if it would create a contact with the phone or email of another contact or of an earlier line,
  for example because the file was imported with another --key. --yes creates these contacts too.

  With --update, --key must be primary_phone or primary_email. For each
  line, the import then updates the contact that has the line's value in this column, or creates one.

  --dry-run prints what an import would do, and writes no contact. The command reports the lines that were not imported,
  imports the rest, and exits with code 1.`

// Written here, because help is shown without the parser.
const delimiters = ["comma", "semicolon", "tab", "pipe"] as const satisfies ReadonlyArray<Csv.Delimiter>

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
const badLinesWriter = Effect.fnUntraced(function*(file: Option.Option<string>, badLines: BadLines) {
  if (Option.isNone(file)) return () => Effect.void
  const files = yield* FileSystem.FileSystem
  yield* files.writeFileString(file.value, badLines.header, { flag: "wx" })
  return ({ bad }: BatchOutcome) => files.writeFileString(file.value, bad.map(badLines.line).join(""), { flag: "a" })
})

const unknownColumns = ({ columns: [first = "", ...others], fields, is_header, line }: ColumnsUnknown): string => {
  const names = Print.quoted([first, ...others])
  return is_header
    ? `Unknown ${
      others.length === 0 ? "column" : "columns"
    }: ${names}. Nothing was imported. Choose a field: --map "${first}=FIELD", or ignore the column: --map "${first}=". ${fields}`
    : `line ${line}: Unknown columns: ${names}. Nothing was imported. If the line is a title, remove it: the first line must name the columns. Otherwise, choose their fields: --map "${first}=FIELD". ${fields}`
}

const rejections = {
  ColumnRepeated: ({ column }: ColumnRepeated) =>
    new Admin.Rejected({ message: `Two columns set the same field: ${column}. Remove one of them.` }),
  ColumnUnknown: ({ column }: ColumnUnknown) =>
    new Admin.Rejected({
      message:
        `No contact field exists for the column: "${column}". Nothing was imported. Create the field, or correct the key.`
    }),
  ColumnsDuplicated: ({ columns }: ColumnsDuplicated) =>
    new Admin.Rejected({
      message: `Several columns have the same name: ${
        Print.quoted(columns)
      }. Nothing was imported. Rename or remove one of them.`
    }),
  ColumnsUnknown: (error: ColumnsUnknown) => new Admin.Rejected({ message: unknownColumns(error) }),
  FileEmpty: Admin.reject("The file is empty. Its first line must name the columns."),
  KeyUnsuitable: ({ column, suitable }: KeyUnsuitable) =>
    new Admin.Rejected({ message: `--key must be one of the file's fields ${suitable.join(", ")}, not "${column}".` }),
  MapInvalid: ({ message }: MapInvalid) => new Admin.Rejected({ message }),
  RowEndless: ({ line }: Csv.RowEndless) =>
    new Admin.Rejected({
      message:
        `line ${line}: The row is unterminated, probably because of an unclosed quote. Correct it, and import the whole file again.`
    })
}

const noteAll = (lines: ReadonlyArray<string>) => Effect.forEach(lines, Print.note, { discard: true })

const noteInterruption = (summary: Report.Summary, is_dry_run: boolean) => {
  const counts = Report.counts(summary)
  return Effect.andThen(
    noteAll(Report.errorWords(summary)),
    Print.note(
      is_dry_run
        ? `The dry run was interrupted, nothing was written: ${counts} so far.`
        : `The import was interrupted: ${counts} so far. Run it again to import the rest.`
    )
  )
}

/** An import that has ended. */
interface Imported {
  readonly summary: Report.Summary
  readonly mapping: Mapping
}

/** Imports the rows of a file, shows the progress, and returns the counts. An interruption prints those so far. */
const importRows = Effect.fnUntraced(function*(
  { bytes, size }: Effect.Success<ReturnType<typeof open>>,
  bad_lines: Option.Option<string>,
  maps: ReadonlyArray<string>,
  options: Omit<ImportOptions, "maps">
) {
  const { importCsv } = yield* Effect.promise(() => import("../cli/CsvImport.ts"))
  const { readMap } = yield* Effect.promise(() => import("../cli/ImportColumns.ts"))
  const bytes_read = yield* Ref.make(0)
  const total = yield* Ref.make(Report.nothing)
  const counted = Stream.tap(bytes, ({ length }) => Ref.update(bytes_read, (sum) => sum + length))
  const chosen = yield* Effect.forEach(maps, (text) => Effect.fromResult(readMap(text)))
  const { badLines, batches, mapping } = yield* importCsv(counted, { ...options, maps: chosen })
  const writeBadLines = yield* badLinesWriter(bad_lines, badLines)
  yield* noteAll(Report.mappingWords(mapping))
  const started_at = yield* Clock.currentTimeMillis
  const addBatch = Effect.fnUntraced(function*(batch: BatchOutcome) {
    const summary = yield* Ref.updateAndGet(total, (sum) => Report.plus(sum, batch))
    const part = size === null ? null : (yield* Ref.get(bytes_read)) / size
    const seconds = ((yield* Clock.currentTimeMillis) - started_at) / 1000
    yield* Print.progress("Contacts", part, Report.progressWords(summary, seconds, Option.fromNullishOr(part)))
  })
  yield* batches.pipe(
    Stream.tap(writeBadLines),
    Stream.runForEach(addBatch),
    Effect.ensuring(Print.progressed),
    Effect.onError(() => Effect.flatMap(Ref.get(total), (summary) => noteInterruption(summary, options.is_dry_run)))
  )
  const imported: Imported = { mapping, summary: yield* Ref.get(total) }
  return imported
})

const report = Effect.fnUntraced(function*({ mapping, summary }: Imported, is_dry_run: boolean, json: boolean) {
  yield* noteAll(Report.errorWords(summary))
  const words = `${is_dry_run ? "Dry run, nothing was written: " : ""}${Report.counts(summary)}.`
  yield* Print.result(json, { ...summary, is_dry_run, mapping: Report.mappingJson(mapping) }, words)
  if (summary.failed > 0) {
    const lines = summary.failed === 1 ? "1 line was" : `${summary.failed} lines were`
    return yield* new Admin.Rejected({ message: `${lines} not imported.` })
  }
})

export const importContacts = Command.make(
  "import",
  {
    organization: Admin.organization,
    file: Argument.String("file").pipe(
      Argument.withDescription("CSV file in UTF-8 or UTF-16, or - for stdin; its first line names the columns")
    ),
    key: Flag.String("key").pipe(
      Flags.optional("Column that identifies a contact", "all values of a line")
    ),
    map: Flag.String("map").pipe(
      Flags.repeated("\"COLUMN=FIELD\" sets the field of a column, \"COLUMN=\" ignores it", "by the column's name")
    ),
    delimiter: Flag.Literals("delimiter", delimiters).pipe(
      Flags.optional("Delimiter of cells", "detected from the first line")
    ),
    bad_lines: Flag.String("bad-lines").pipe(
      Flags.optional(
        "New CSV file for all lines that were not imported, with the reasons",
        `the first ${Report.errors_max} on stderr`
      )
    ),
    country: Flag.String("country").pipe(
      Flag.withSchema(Country),
      Flags.optional(
        "Country whose phone numbers are read as they are dialed within it, such as DE",
        "that of the organization"
      )
    ),
    update: Flag.Boolean("update").pipe(Flags.withDefault(false, "Update the contacts that --key identifies")),
    dry_run: Flag.Boolean("dry-run").pipe(
      Flags.withDefault(false, "Print what would be imported, and write no contact")
    ),
    yes: Flag.Boolean("yes").pipe(
      Flags.withDefault(false, "Create contacts whose phone or email another contact has")
    ),
    json: Print.json
  },
  Effect.fnUntraced(function*(
    { bad_lines, country, delimiter, dry_run, file, json, key, map, organization, update, yes }
  ) {
    const given = Option.getOrNull(key)
    const updatedBy = given === "primary_phone" || given === "primary_email" ? given : null
    if (update && updatedBy === null) {
      return yield* new Admin.Rejected({ message: "--update requires --key primary_phone or --key primary_email." })
    }
    const csv = yield* open(file)
    const options: Omit<ImportOptions, "maps"> = {
      allows_duplicates: yes,
      delimiter,
      is_dry_run: dry_run,
      key: given,
      update: update ? updatedBy : null
    }
    const importing = Effect.scoped(importRows(csv, bad_lines, map, options))
    const inCountry = Option.match(country, {
      onNone: () => importing,
      onSome: (one) => Effect.provideService(importing, DefaultCountry, one)
    })
    const imported = yield* Admin.asOperator(organization, inCountry).pipe(Effect.catchTags(rejections))
    yield* report(imported, dry_run, json)
  })
).pipe(
  Command.withShortDescription("Import contacts from a CSV file"),
  Command.withDescription(help),
  Command.withExamples([
    { command: "messaging-crm contacts import contacts.csv --organization $ORGANIZATION_ID --key primary_email" },
    {
      command:
        "messaging-crm contacts import contacts.csv --organization $ORGANIZATION_ID --map \"Handy=primary_phone\" --dry-run"
    },
    {
      command:
        "gunzip -c contacts.csv.gz | messaging-crm contacts import - --organization $ORGANIZATION_ID --bad-lines invalid.csv"
    }
  ])
)
