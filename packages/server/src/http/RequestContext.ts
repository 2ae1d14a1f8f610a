/** The services that each request carries: only those that are settings, because they are copied. */
import { CommitConnections } from "@messaging-crm/adapter-postgres/CommitConnections"
import { SearchConnections } from "@messaging-crm/adapter-postgres/SearchConnections"
import * as Crm from "@messaging-crm/core/Crm"
import { Dispatch } from "@messaging-crm/core/Dispatch"
import { Context, Effect, FileSystem, Layer, Path, Stdio, Terminal } from "effect"
import { CliOutput } from "effect/cli"
import { Etag, HttpServer } from "effect/http"
import { ChildProcessSpawner } from "effect/process"
import { SqlClient } from "effect/sql"

/** Services of the process. Its routes have them, and they are left out of the context of a request, which is copied for each. */
const ofTheProcess = [
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
 * By default, Effect copies a context when the ninth service is added to it, and a request adds nine before its route is
 * found.
 */
const contextOfRequests = <R>(surrounding: Context.Context<R>): Context.Context<R> =>
  Context.makeUnsafe(Context.omit(...ofTheProcess)(surrounding).mapUnsafe, { maxDepth: 16 })

/** Layer for the server as the API is served: its requests begin with `contextOfRequests`. */
export const layer = Layer.effect(
  HttpServer.HttpServer,
  Effect.map(HttpServer.HttpServer, ({ address, serve }) => {
    const lean = (...given: Parameters<typeof serve>) => Effect.updateContext(serve(...given), contextOfRequests)
    // It takes and returns the same as `serve`, which has several forms.
    return HttpServer.make({ address, serve: lean as typeof serve })
  })
)
