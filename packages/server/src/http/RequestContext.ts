/** The context that each request begins with: without the services of the process, so that its copies are small. */
import { CommitConnections } from "@messaging-crm/adapter-postgres/CommitConnections"
import { SearchConnections } from "@messaging-crm/adapter-postgres/SearchConnections"
import * as Crm from "@messaging-crm/core/Crm"
import { Dispatch } from "@messaging-crm/core/Dispatch"
import { Context, Effect, FileSystem, Layer, Path, Stdio, Terminal } from "effect"
import { CliOutput } from "effect/cli"
import { Etag, HttpServer } from "effect/http"
import { ChildProcessSpawner } from "effect/process"
import { SqlClient } from "effect/sql"

/**
 * The services of the process, which its routes already have.
 *
 * A list of the services to keep would be shorter, but a setting that it lacks would lose its effect. A service that this list
 * lacks is only copied.
 */
const processServices = [
  ...Crm.services,
  Dispatch,
  SqlClient.SqlClient,
  CommitConnections,
  SearchConnections,
  HttpServer.HttpServer,
  Etag.Generator,
  FileSystem.FileSystem,
  Path.Path,
  Stdio.Stdio,
  Terminal.Terminal,
  ChildProcessSpawner.ChildProcessSpawner,
  CliOutput.Presenter,
  Layer.CurrentMemoMap
] as const

/**
 * Returns the context that every request begins with: the settings in the surrounding context.
 *
 * Effect 4.1 copies a context when more than `maxDepth` services are added to it, by default 8. A request adds nine before its
 * route is found.
 */
export const contextOfRequests = <R>(surrounding: Context.Context<R>): Context.Context<R> =>
  Context.makeUnsafe(Context.omit(...processServices)(surrounding).mapUnsafe, { maxDepth: 16 })

/** Layer for the server as the API is served: its requests begin with `contextOfRequests`. */
export const layer = Layer.effect(
  HttpServer.HttpServer,
  Effect.map(HttpServer.HttpServer, ({ address, serve }) => {
    const lean = (...given: Parameters<typeof serve>) => Effect.updateContext(serve(...given), contextOfRequests)
    // It takes and returns the same as `serve`, which has several forms.
    return HttpServer.make({ address, serve: lean as typeof serve })
  })
)
