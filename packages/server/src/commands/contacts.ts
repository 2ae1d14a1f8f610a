import { Effect, FileSystem, Option, Ref, Stdio, Stream, Struct } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { setFlagsFromString } from "node:v8"
import * as Admin from "../Admin.ts"
import * as Csv from "../Csv.ts"
import { type BadLine, type BatchOutcome, importCsv } from "../CsvImport.ts"
import * as Print from "../Print.ts"
import { oneLine } from "../Visible.ts"
import { eraseContact, exportContact, exportSchema } from "./personalData.ts"

interface Summary {
  readonly created: number
  readonly unchanged: number
  readonly failed: number
  /** The first lines that were not imported. */
  readonly errors: ReadonlyArray<BadLine>
}

const errors_max = 100

const nothing: Summary = { created: 0, unchanged: 0, failed: 0, errors: [] }

const plus = (summary: Summary, { bad, created, unchanged }: BatchOutcome): Summary => ({
  created: summary.created + created,
  unchanged: summary.unchanged + unchanged,
  failed: summary.failed + bad.length,
  errors: [...summary.errors, ...bad].slice(0, errors_max)
})

const wordsOf = ({ line, message }: BadLine): string => `line ${line}: ${oneLine(message)}`

const counts = ({ created, failed, unchanged }: Summary): string =>
  `${created} created, ${unchanged} unchanged, ${failed} bad`

/** Stops V8 from growing the young generation, because an import shares its machine with servers. */
const limitYoungGeneration = Effect.sync(() => setFlagsFromString("--semi-space-growth-factor=1"))

const help = `Import contacts from a CSV file

  The first line names the columns: the fields of a contact (first_name, primary_phone, owner_user_id, notes ...),
  custom_values.KEY for a contact field, tag_ids, or tags by name, several separated by ;. An empty cell sets nothing.
  An unknown column stops the import before anything is written.

  Each contact is imported once and never changed, so the same file can be imported again, also after an import that
  was killed. A line with any other value is another contact, unless --key names the column that identifies contacts.

  Lines that cannot be imported are listed, and the others are imported. The exit code is then 1.`

/** Returns the bytes of a file and its size, or those of stdin for `-`, whose size is unknown. */
const open = Effect.fnUntraced(function*(file: string) {
  if (file === "-") return { bytes: (yield* Stdio.Stdio).stdin, size: null }
  const files = yield* FileSystem.FileSystem
  const { size } = yield* files.stat(file)
  return { bytes: files.stream(file), size: Number(size) }
})

/** Makes a function that appends bad lines to a new file, or does nothing where no file is given. */
const badLinesWriter = Effect.fnUntraced(function*(file: Option.Option<string>) {
  if (Option.isNone(file)) return () => Effect.void
  const files = yield* FileSystem.FileSystem
  yield* files.writeFileString(file.value, "")
  return ({ bad }: BatchOutcome) =>
    files.writeFileString(file.value, bad.map((line) => `${wordsOf(line)}\n`).join(""), { flag: "a" })
})

const importContacts = Command.make(
  "import",
  {
    organization: Admin.organization,
    file: Argument.String("file").pipe(
      Argument.withDescription("A CSV file in UTF-8, or - for stdin; its first line names the columns")
    ),
    key: Flag.String("key").pipe(
      Flag.optional,
      Flag.withDescription("The column that identifies a contact; without it, all values of a line do")
    ),
    delimiter: Flag.Literals("delimiter", Struct.keys(Csv.delimiters)).pipe(
      Flag.optional,
      Flag.withDescription("The delimiter of cells; by default it is detected from the first line")
    ),
    bad_lines: Flag.String("bad-lines").pipe(
      Flag.optional,
      Flag.withDescription(`A file for all lines that are not imported; stderr lists the first ${errors_max}`)
    ),
    json: Print.json
  },
  Effect.fnUntraced(function*({ bad_lines, delimiter, file, json, key, organization }) {
    yield* limitYoungGeneration
    const { bytes, size } = yield* open(file)
    const writeBadLines = yield* badLinesWriter(bad_lines)
    const read = yield* Ref.make(0)
    const counted = Stream.tap(bytes, (chunk) => Ref.update(read, (sum) => sum + chunk.length))
    const batches = importCsv(counted, { delimiter, key: Option.getOrNull(key) })
    const draw = Effect.fnUntraced(function*(summary: Summary) {
      const part = size === null ? null : (yield* Ref.get(read)) / size
      yield* Print.progress("Contacts", part, counts(summary))
    })
    const summary = yield* batches.pipe(
      Stream.tap(writeBadLines),
      Stream.runFoldEffect(() => nothing, (sum, batch) => Effect.tap(Effect.succeed(plus(sum, batch)), draw)),
      Effect.ensuring(Print.progressed),
      (importing) => Admin.asOperator(organization, importing),
      Effect.catchTags({
        ColumnRepeated: ({ column }) => Admin.refuse(`Two columns write the same field: ${column}.`)(),
        ColumnUnknown: ({ column }) => Admin.refuse(`A contact has no "${column}". Nothing was imported.`)(),
        FileEmpty: Admin.refuse("The file is empty. Its first line names the columns."),
        KeyUnsuitable: ({ column }) => Admin.refuse(`The key "${column}" is not a column with a single value.`)(),
        RowEndless: ({ line }) =>
          Admin.refuse(`line ${line}: The row does not end. Is a quote not closed? What was imported before stays.`)()
      })
    )
    yield* Effect.forEach(summary.errors, (error) => Print.note(wordsOf(error)), { discard: true })
    yield* Print.result(json, summary, `${counts(summary)}.`)
    if (summary.failed > 0) yield* Admin.refuse(`${summary.failed} lines were not imported.`)()
  })
).pipe(
  Command.withShortDescription("Import contacts from a CSV file"),
  Command.withDescription(help)
)

export const contacts = Command.make("contacts").pipe(
  Command.withDescription("Contacts of an organization"),
  Command.withSubcommands([importContacts, exportContact, exportSchema, eraseContact])
)
