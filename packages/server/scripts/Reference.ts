/** The pages of docs/ that are made from the code: settings and commands. */
import { Array, Console, Effect, Option, Struct } from "effect"
import { CliOutput, Command, type HelpDoc } from "effect/cli"
import { root } from "../src/Cli.ts"
import * as Help from "../src/cli/Help.ts"
import { groups, type Setting, settings } from "../src/settings/Settings.ts"

const cell = (text: string): string => text.replaceAll("|", "\\|")

// ------------------------------------------------------------- settings

const settingRow = ({ default_text, description, name, secret = false, valid_values }: Setting<unknown>): string =>
  `| \`${name}\`${secret ? " *" : ""} | ${cell(description)} | ${cell(default_text)} | ${cell(valid_values)} |`

/** Returns `docs/configuration.md`. */
export const configuration: string = [
  "# Configuration",
  "",
  "Every setting of the service, for operators. Generated from `packages/server/src/settings/Settings.ts` by `npm run docs`.",
  "",
  "Settings are environment variables. A flag of a command overrides its variable, and a variable overrides the default. An",
  "empty variable counts as absent. The process reports all missing and invalid settings at once and exits with code 1.",
  "",
  "A setting with an asterisk is a secret. It can be read from a file: `SECRET_KEY_FILE=/run/secrets/secret_key` names the",
  "file that contains `SECRET_KEY`. Secrets appear in no log and in no error message.",
  ...groups.flatMap((group) => [
    "",
    `## ${group}`,
    "",
    "| Setting | Description | Default | Valid values |",
    "|---|---|---|---|",
    ...Object.values<Setting<unknown>>(settings).filter((setting) => setting.group === group).map(settingRow)
  ]),
  ""
].join("\n")

// ------------------------------------------------------------- commands

interface FlagReference {
  readonly name: string
  readonly type: string
  readonly description: string
}

/** A command as its help shows it. */
interface CommandReference {
  readonly path: ReadonlyArray<string>
  readonly usage: string
  readonly description: string
  readonly args: ReadonlyArray<FlagReference>
  readonly flags: ReadonlyArray<FlagReference>
  readonly examples: ReadonlyArray<string>
  readonly has_commands: boolean
}

const reference = ({ description, name, type }: Pick<HelpDoc.FlagDoc, "description" | "name" | "type">) => ({
  name,
  type,
  description: Option.getOrElse(description, () => "")
})

/** Returns the help of a command, taken where it would be formatted. */
const helpOf = Effect.fnUntraced(function*(path: ReadonlyArray<string>) {
  const seen: Array<HelpDoc.HelpDoc> = []
  const formatter: CliOutput.Formatter = {
    ...CliOutput.defaultFormatter(),
    formatHelpDoc: (doc) => {
      seen.push(doc)
      return ""
    }
  }
  yield* Command.runWith(root, { version: "" })([...path.slice(1), "--help"]).pipe(
    Effect.provide(CliOutput.layer(formatter)),
    Effect.provideService(Console.Console, { ...globalThis.console, log: () => {} })
  )
  return Option.getOrThrow(Array.head(seen))
})

const visit = (
  path: ReadonlyArray<string>
): Effect.Effect<ReadonlyArray<CommandReference>, unknown, Command.Environment> =>
  Effect.gen(function*() {
    const doc = yield* helpOf(path)
    const names = (doc.subcommands ?? []).flatMap(({ commands }) => commands.map(Struct.get("name")))
    const rest = yield* Effect.forEach(names, (name) => visit([...path, name]))
    const own: CommandReference = {
      path,
      usage: doc.usage,
      description: doc.description,
      args: (doc.args ?? []).map(reference),
      flags: doc.flags.map(Help.marked).map(reference),
      examples: (doc.examples ?? []).map(Struct.get("command")),
      has_commands: names.length > 0
    }
    return [own, ...rest.flat()]
  })

/** Every command of the command line, in the order of the help. */
export const commands = Effect.orDie(visit(["messaging-crm"]))

const section = ({ args, description, examples, flags, path, usage }: CommandReference): ReadonlyArray<string> => [
  "",
  `## ${path.slice(1).join(" ")}`,
  "",
  ...description.split("\n").map((line) => line.trim()),
  "",
  "```text",
  usage,
  "```",
  "",
  "| Argument or flag | Description |",
  "|---|---|",
  ...args.map(({ description, name }) => `| \`<${name}>\` | ${cell(description)} |`),
  ...flags.map(({ description, name, type }) =>
    `| \`--${name}${type === "boolean" ? "" : ` ${type}`}\` | ${cell(description)} |`
  ),
  ...(examples.length === 0 ? [] : ["", "```text", ...examples, "```"])
]

/** Returns `docs/cli.md`. */
export const cli = Effect.map(commands, (all) =>
  [
    "# Command line",
    "",
    "Every command with its flags, for operators. Generated from the commands' own help by `npm run docs`.",
    "",
    "In a checkout, run `npx messaging-crm`. After `npm run bundle`, run `node dist/main.js`. In the image, `messaging-crm` is the",
    "entrypoint. Commands read the same [settings](configuration.md) as the service.",
    "",
    "Every command exits with code 0 on success and after Ctrl-C, and with code 1 on failure. Results go to stdout, as one JSON",
    "document with `--json` (`webhooks listen`: one per event). `mcp` writes messages of its protocol ([agents](agents.md)). Errors and",
    "logs go to stderr.",
    ...all.filter(({ has_commands }) => !has_commands).flatMap(section),
    ""
  ].join("\n"))
