/** Reads settings: a flag overrides the environment variable, which overrides the default. An invalid value prevents the startup. */
import { Array, Config, Data, Effect, Option } from "effect"
import { readFile } from "node:fs/promises"
import { type Setting, settings, type SettingWithDefault } from "./Settings.ts"

export { settings } from "./Settings.ts"

/** The process cannot start: a setting is missing or invalid, or what it names cannot be used. */
export class StartupRejected extends Data.TaggedError("StartupRejected")<{ readonly message: string }> {}

const wrong = (message: string) => new StartupRejected({ message })

/** Reads a variable of the environment; none if it is absent or empty. */
export const variable = (name: string) =>
  Config.option(Config.String(name)).pipe(
    Effect.map(Option.filter((text) => text !== "")),
    Effect.mapError((error) => wrong(`${name} cannot be read: ${error.message}`))
  )

/** Returns the text of a secret: of its variable, or of the file that the variable with `_FILE` names. */
const secretText = Effect.fnUntraced(function*(name: string) {
  const given = yield* variable(name)
  const file = yield* variable(`${name}_FILE`)
  if (Option.isNone(file)) return given
  if (Option.isSome(given)) return yield* wrong(`${name} and ${name}_FILE are both set. Remove one of them.`)
  const text = yield* Effect.tryPromise({
    try: () => readFile(file.value, "utf8"),
    catch: () => wrong(`${name}_FILE names a file that cannot be read: ${file.value}. Check its path and permissions.`)
  })
  return Option.some(text.trim())
})

/** Reads a setting from its flag or the environment. None when it is absent or empty. */
export const read = Effect.fnUntraced(function*<A>(
  { name, parse, secret = false, valid_values }: Setting<A>,
  flag: Option.Option<string> = Option.none()
): Effect.fn.Return<Option.Option<A>, StartupRejected> {
  const given = Option.filter(flag, (text) => text !== "")
  const text = Option.isSome(given) ? given : yield* (secret ? secretText(name) : variable(name))
  if (Option.isNone(text)) return Option.none()
  const value = parse(text.value)
  if (Option.isSome(value)) return value
  const shown = secret ? "" : `, not "${text.value}"`
  return yield* wrong(`${name} must be ${valid_values}${shown}.`)
})

/** Reads a setting that has the given default here. */
export const readOr = <A, const D extends A>(
  value: Setting<A>,
  defaultValue: D,
  flag?: Option.Option<string>
): Effect.Effect<A, StartupRejected> => Effect.map(read(value, flag), Option.getOrElse(() => defaultValue))

/** Reads a setting, or returns its default. */
export const readWithDefault = <A>(
  value: SettingWithDefault<A>,
  flag?: Option.Option<string>
): Effect.Effect<A, StartupRejected> => readOr(value, value.default_value, flag)

/** Reads a setting that is required. */
export const readRequired = <A>(value: Setting<A>, flag?: Option.Option<string>): Effect.Effect<A, StartupRejected> =>
  Effect.flatMap(
    read(value, flag),
    Option.match({
      onNone: () => Effect.fail(wrong(`${value.name} is required: ${value.valid_values}.`)),
      onSome: Effect.succeed
    })
  )

type Name = keyof typeof settings

/** The flags of a command that set settings. */
export type Flags = { readonly [Key in Name]?: Option.Option<string> }

const problemOf = (name: Name, isRequired: boolean, flag: Option.Option<string> | undefined) =>
  Effect.match(isRequired ? readRequired<unknown>(settings[name], flag) : read<unknown>(settings[name], flag), {
    onFailure: ({ message }) => Option.some(message),
    onSuccess: () => Option.none<string>()
  })

/** Whether the provider is the Graph API. An invalid provider is not. */
const isCloud = Effect.map(Effect.orElseSucceed(read(settings.provider), Option.none), Option.contains("cloud"))

/** Whether CELLS is set, valid or not. */
const hasCells = Effect.match(read(settings.cells), { onFailure: () => true, onSuccess: Option.isSome })

/** The problems of settings that are valid on their own. */
const cellProblems = Effect.gen(function*() {
  const cells = yield* read(settings.cells)
  const worked = Option.getOrElse(yield* read(settings.cells_worked), () => [])
  const names = new Set(Option.getOrElse(cells, () => []).map(({ name }) => name))
  const unknown = worked.filter((name) => !names.has(name))
  return [
    ...(Option.isSome(cells) && Option.isSome(yield* read(settings.database_url))
      ? ["CELLS and DATABASE_URL are both set. Remove one of them."]
      : []),
    ...(unknown.length > 0 ? [`CELLS_WORKED names cells that are not in CELLS: ${unknown.join(", ")}.`] : [])
  ]
}).pipe(Effect.orElseSucceed(() => []))

/**
 * Checks all settings at once. Fails with a line for each that is invalid, and for each of `required` that is missing. CELLS
 * takes the place of DATABASE_URL.
 */
export const check = Effect.fnUntraced(function*(required: ReadonlyArray<Name> = [], flags: Flags = {}) {
  const names = Object.keys(settings) as ReadonlyArray<Name> // The type of `Object.keys` does not contain the names.
  const replaced = (yield* hasCells) ? "database_url" : null
  const problems = Array.getSomes(
    yield* Effect.forEach(
      names,
      (name) => problemOf(name, required.includes(name) && name !== replaced, flags[name])
    )
  ).concat(yield* cellProblems)
  if (problems.length > 0) return yield* wrong(problems.join("\n"))
})

/** The settings without which the service has no console. */
const console_names: ReadonlyArray<Name> = [
  "console_url",
  "console_organization_id",
  "console_session_key",
  "oidc_issuer",
  "oidc_client_id",
  "oidc_client_secret"
]

/** Checks all settings, and that those are set without which the service, or its console, does not start. */
export const checkService = Effect.fnUntraced(function*(flags: Flags = {}, hasConsole = false) {
  const accounts: ReadonlyArray<Name> = (yield* isCloud) ? ["cloud_accounts"] : []
  const consoles = hasConsole ? console_names : []
  yield* check(["database_url", "secret_key", "provider", ...accounts, ...consoles], flags)
})
