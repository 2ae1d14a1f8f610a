/** `doctor`: checks everything that the service depends on, and says what to do. It changes nothing. */
import { makeConnect } from "@messaging-crm/adapter-http/outbound/Connections"
import * as Clock from "@messaging-crm/adapter-postgres/Clock"
import * as Migrations from "@messaging-crm/adapter-postgres/Migrations"
import * as Moves from "@messaging-crm/adapter-postgres/Moves"
import { CurrentActor } from "@messaging-crm/core/Actor"
import { ChannelHolds, isPause } from "@messaging-crm/core/ChannelHolds"
import { Channels } from "@messaging-crm/core/Channels"
import { Organizations } from "@messaging-crm/core/Organizations"
import { SecretCanary } from "@messaging-crm/core/SecretCanary"
import { Webhooks } from "@messaging-crm/core/Webhooks"
import { AccountCheck } from "@messaging-crm/provider-cloud/AccountCheck"
import { AccountsUnreadable } from "@messaging-crm/provider-cloud/CloudAccounts"
import { Effect, Option } from "effect"
import { SqlClient } from "effect/sql"
import * as BuiltInProviders from "../BuiltInProviders.ts"
import { reasonOf } from "../Database.ts"
import * as Layers from "../Layers.ts"
import { checkService, read, settings } from "../settings/Config.ts"
import * as AdminOperations from "./AdminOperations.ts"
import { unfinishedMoves } from "./UnfinishedMoves.ts"

/** The result of one check. */
interface Finding {
  readonly name: string
  readonly state: "ok" | "warning" | "failed"
  readonly detail: string
  /** The action that the operator should take, or null. */
  readonly advice: string | null
}

const ok = (name: string, detail: string): Finding => ({ name, state: "ok", detail, advice: null })
const warning = (name: string, detail: string, advice: string): Finding => ({ name, state: "warning", detail, advice })
const failed = (name: string, detail: string, advice: string): Finding => ({ name, state: "failed", detail, advice })

// ------------------------------------------------------------- database

const version_min = 170_000

const version = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  const [row] = yield* sql<{ readonly number: string; readonly text: string }>`
    SELECT current_setting('server_version_num') AS number, current_setting('server_version') AS text
  `
  const { number = "0", text = "unknown" } = row ?? {}
  return Number(number) >= version_min
    ? ok("Database", `PostgreSQL ${text}; no extension is required`)
    : failed("Database", `PostgreSQL ${text} is too old`, "Use PostgreSQL 17 or later.")
})

const schema = Migrations.isCurrent.pipe(
  Effect.map((isCurrent) =>
    isCurrent ? ok("Schema", "up to date") : failed("Schema", "out of date", "Run `messaging-crm migrate`.")
  ),
  Effect.catchTags({
    NewerSchema: ({ oldest }) =>
      Effect.succeed(failed("Schema", "a newer version changed it", `Use version ${oldest} or later.`)),
    UnreleasedSchema: () =>
      Effect.succeed(failed("Schema", "an unreleased version created it", "Use an empty database."))
  })
)

const clock = Effect.gen(function*() {
  const offset = yield* Effect.flatten(Clock.HostClockOffset)
  const words = Clock.warningOf(offset)
  return Option.isNone(words)
    ? ok("Clock", "within a second of the database's clock")
    : warning("Clock", words.value, "Synchronize this host's clock, for example with chrony.")
})

const secret = Effect.map(SecretCanary.use(({ peek }) => peek), (isReadable) => {
  if (Option.isNone(isReadable)) return ok("Secret key", "valid; the database has no key yet")
  return isReadable.value
    ? ok("Secret key", "decrypts the secrets of the database")
    : failed(
      "Secret key",
      "does not decrypt the secrets of the database",
      "Set SECRET_KEY to the key of this database."
    )
})

// ------------------------------------------------------------- channels

/** Runs an effect for each organization, and joins the results. */
const inEach = <A, E, R>(effect: Effect.Effect<ReadonlyArray<A>, E, R>) =>
  Effect.gen(function*() {
    const organizations = yield* Organizations.use(({ list }) => list)
    const found = yield* Effect.forEach(organizations, ({ id }) =>
      Effect.provideService(effect, CurrentActor, { organization_id: id, member_id: null }))
    return found.flat()
  })

const channelsOf = Effect.gen(function*() {
  const all = yield* Channels.use(({ list }) => list)
  const holds = yield* ChannelHolds.use(({ list }) => list)
  return yield* Effect.forEach(all, (channel) =>
    Effect.gen(function*() {
      const hold = holds.find(({ channel_id }) => channel_id === channel.id)
      const verdict = yield* AccountCheck.use((accounts) => accounts.check(channel))
      const problem = hold !== undefined && isPause(hold)
        ? `paused (${hold.reason})`
        : verdict === "ok"
        ? null
        : verdict
      return { id: channel.id, problem }
    }), { concurrency: 4 })
})

const channels = Effect.map(inEach(channelsOf), (all) => {
  const bad = all.filter(({ problem }) => problem !== null)
  if (all.length === 0) return warning("Channels", "none", "Connect one with `messaging-crm channels connect`.")
  return bad.length === 0
    ? ok("Channels", `${all.length} can send`)
    : failed(
      "Channels",
      bad.map(({ id, problem }) => `${id}: ${problem}`).join(", "),
      "Set a new token with `messaging-crm channels set-token`, then run `messaging-crm channels check`."
    )
})

// ------------------------------------------------------------- webhooks

/** Returns a URL without its query, which can contain a token: the output of `doctor` is made to be shared. */
const withoutQuery = (url: string) => url.replace(/[?#].*$/s, "")

/** Opens a connection to an endpoint as a delivery does, and closes it. Sends no request. */
const reach = Effect.fnUntraced(function*(url: URL) {
  const allowed = Option.getOrNull(yield* read(settings.webhook_allowed_networks))
  yield* makeConnect({ allowed })(url, (connection) => Effect.sync(() => connection.end()))
}, Effect.scoped)

const webhooksOf = Effect.gen(function*() {
  const active = yield* Webhooks.use(({ list }) => list({ status: "active" }))
  return yield* Effect.forEach(active, ({ id, url }) =>
    Effect.match(reach(new URL(url)), {
      onSuccess: () => ({ id, url, problem: null }),
      onFailure: (error) => ({ id, url, problem: "failure_code" in error ? error.failure_code : error.message })
    }), { concurrency: 8 })
})

const webhooks = Effect.map(inEach(webhooksOf), (all) => {
  const bad = all.filter(({ problem }) => problem !== null)
  return bad.length === 0
    ? ok("Webhooks", `${all.length} active, all reachable`)
    : warning(
      "Webhooks",
      bad.map(({ id, problem, url }) => `${id} (${withoutQuery(url)}): ${problem}`).join(", "),
      "Start the endpoints, or disable their webhooks with `messaging-crm webhooks disable`."
    )
})

// ---------------------------------------------------------------- order

const invalid = ({ message }: Error) => [
  failed("Settings", message.replaceAll("\n", " "), "See docs/configuration.md.")
]

const unusable = (error: Error) =>
  error instanceof AccountsUnreadable ? invalid(error) : [
    failed(
      "Database",
      reasonOf(error),
      "Check DATABASE_URL, the network, and whether PostgreSQL 17 or later is running."
    )
  ]

/** The checks that need a current schema. */
const inside = (url: AdminOperations.ConfiguredDatabase["url"]) =>
  Effect.all([secret, clock, channels, webhooks]).pipe(
    Effect.provide(BuiltInProviders.accountCheck),
    Effect.provide(AdminOperations.layerOf(url), { local: true })
  )

/** The checks of one database. Those of a cell have its name. */
const checkDatabase = ({ cell, url }: AdminOperations.ConfiguredDatabase) =>
  Effect.gen(function*() {
    const outside = yield* Effect.provide(Effect.all([version, schema]), Layers.database(url), { local: true })
    return outside.some(({ state }) => state === "failed") ? outside : [...outside, ...yield* inside(url)]
  }).pipe(
    // The other cells are checked, too.
    Effect.catch((error) => cell === null ? Effect.fail(error) : Effect.succeed(unusable(error))),
    Effect.map((found) =>
      cell === null ? found : found.map((finding) => ({ ...finding, name: `${finding.name} of ${cell}` }))
    )
  )

/** Returns the moves of a database; none if it cannot be used, which another check reports. */
const movesOf = ({ cell, url }: AdminOperations.ConfiguredDatabase) =>
  Moves.list.pipe(
    Effect.provide(Layers.database(url), { local: true }),
    Effect.match({ onFailure: () => ({ cell, moves: [] }), onSuccess: (moves) => ({ cell, moves }) })
  )

/** A finding for each move that has not ended. */
const moves = Effect.fnUntraced(function*(databases: ReadonlyArray<AdminOperations.ConfiguredDatabase>) {
  return unfinishedMoves(yield* Effect.forEach(databases, movesOf)).map(({ advice, detail, is_closed }) =>
    (is_closed ? failed : warning)("Move", detail, advice)
  )
})

const afterSettings = Effect.gen(function*() {
  const databases = yield* AdminOperations.databases
  const found = yield* Effect.forEach(databases, checkDatabase)
  return [...found.flat(), ...yield* moves(databases)]
})

/** Runs the checks. If a check fails that later ones depend on, the later ones are skipped. */
export const findings: Effect.Effect<ReadonlyArray<Finding>> = checkService().pipe(
  Effect.matchEffect({
    onFailure: (error) => Effect.succeed(invalid(error)),
    onSuccess: () =>
      Effect.match(afterSettings, {
        onFailure: unusable,
        onSuccess: (rest) => [ok("Settings", "valid"), ...rest]
      })
  })
)
