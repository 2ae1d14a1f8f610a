/** The operations on a configured database, without a provider: what the admin commands run. */
import * as Moves from "@messaging-crm/adapter-postgres/Moves"
import type { OrganizationId } from "@messaging-crm/core/Ids"
import { Organizations } from "@messaging-crm/core/Organizations"
import { Duration, Effect, Layer, Option, type Redacted } from "effect"
import * as BuiltInProviders from "../BuiltInProviders.ts"
import { Directory } from "../cells/Directory.ts"
import * as Database from "../Database.ts"
import * as Layers from "../Layers.ts"
import { read, readRequired, settings, StartupRejected } from "../settings/Config.ts"
import type { CellAddress } from "../settings/Parsers.ts"

/** Layer for the operations on a database, and for its clock. Fails if the schema is out of date. */
export const layerOf = (url: Redacted.Redacted) => {
  const database = Layers.database(url)
  const storage = Layers.postgres.pipe(Layer.provide(database))
  return Layers.crm(storage, BuiltInProviders.absent).pipe(
    Layer.provideMerge(Layer.merge(Database.current, Database.clock).pipe(Layer.provide(database))),
    Layer.provide(Layers.tuning)
  )
}

/** Layer for the operations on the database of DATABASE_URL. */
export const layer = Layer.unwrap(Effect.map(readRequired(settings.database_url), layerOf))

/** A database of the configuration. The only one has no name. */
export interface ConfiguredDatabase {
  readonly cell: string | null
  readonly url: Redacted.Redacted
}

const toDatabase = ({ name, url }: CellAddress): ConfiguredDatabase => ({ cell: name, url })

/** Returns the databases: those of CELLS, or that of DATABASE_URL. */
export const databases = Effect.flatMap(
  read(settings.cells),
  Option.match({
    onNone: () =>
      Effect.map(
        readRequired(settings.database_url),
        (url): ReadonlyArray<ConfiguredDatabase> => [{ cell: null, url }]
      ),
    onSome: (cells) => Effect.succeed(cells.map(toDatabase))
  })
)

export { ofCell } from "../Database.ts"

/** How long a command waits for a cell. */
const cell_time_max = Duration.seconds(15)

/** Whether a database that has rows of an organization has them only while it arrives, or after it has departed. */
const isElsewhere = (organization_id: OrganizationId) =>
  Effect.orDie(Effect.map(Moves.find(organization_id), Option.exists(({ state }) => Moves.isElsewhere(state))))

/** Layer for the operations on the database of an organization, which is looked for in all cells at once. None if no cell has it. */
export const findLayer = Effect.fnUntraced(function*(organization_id: OrganizationId) {
  const all = yield* databases
  const [only] = all
  if (all.length === 1 && only !== undefined) return Option.some(layerOf(only.url))
  const located = yield* new Directory<OrganizationId, ConfiguredDatabase>(all, cell_time_max).find(
    organization_id,
    (database) =>
      Organizations.use(({ get }) => Effect.option(get(organization_id))).pipe(
        Effect.provide(layerOf(database.url), { local: true }),
        Effect.filterOrElse(Option.isNone, (found) =>
          Effect.map(
            Effect.provide(isElsewhere(organization_id), Layers.database(database.url), { local: true }),
            (elsewhere) => Option.filter(found, () => !elsewhere)
          )),
        Database.ofCell(database.cell)
      )
  )
  return Option.map(located, ({ cell }) => layerOf(cell.url))
})

/** Layer for the operations on a cell, or on the only database. */
export const layerOfCell = Effect.fnUntraced(function*(name: Option.Option<string>) {
  const all = yield* databases
  const names = all.flatMap(({ cell }) => cell ?? []).join(", ")
  const wanted = Option.getOrNull(name)
  const found = all.find(({ cell }) => cell === wanted)
  if (found !== undefined) return layerOf(found.url)
  const message = wanted === null
    ? `CELLS has several cells. Choose one with --cell: ${names}.`
    : names === ""
    ? "--cell requires CELLS. Remove it, or set CELLS instead of DATABASE_URL."
    : `CELLS has no cell ${wanted}. Choose another --cell: ${names}.`
  return yield* new StartupRejected({ message })
})
