/** The API that tests call, over three cells on two PostgreSQL servers. Each organization that a test creates is in the next cell. */
import * as WebhookTransport from "@messaging-crm/adapter-memory/WebhookTransport"
import * as Postgres from "@messaging-crm/adapter-postgres"
import * as DepartedKeys from "@messaging-crm/adapter-postgres/DepartedKeys"
import * as Database from "@messaging-crm/adapter-postgres/testing/Database"
import { CurrentActor } from "@messaging-crm/core/Actor"
import * as Crm from "@messaging-crm/core/Crm"
import { Organizations } from "@messaging-crm/core/Organizations"
import * as Mock from "@messaging-crm/provider-mock"
import { ConfigProvider, Context, Effect, Exit, Layer, ManagedRuntime, Option, References, Scope } from "effect"
import { HttpEffect, HttpServer, type HttpServerRequest } from "effect/http"
import { NetAddress } from "effect/net"
import { SqlClient } from "effect/sql"
import type { Composition, Options, Services } from "../../../adapter-http/testing/Service.ts"
import * as Callbacks from "../../src/cells/Callbacks.ts"
import { Cell, makeApi } from "../../src/cells/Cell.ts"
import { Cells } from "../../src/cells/Cells.ts"
import * as Front from "../../src/cells/Front.ts"
import * as Layers from "../../src/Layers.ts"

/** The variables that have the URLs of the cells' servers. Outside of the project `cells`, there is only the first server. */
const servers = { one: "TEST_DATABASE_URL", two: "TEST_DATABASE_URL", three: "SECOND_TEST_DATABASE_URL" }

const database = (variable: string) =>
  Layer.provide(
    Database.layer,
    ConfigProvider.layer(ConfigProvider.fromUnknown({
      TEST_DATABASE_URL: process.env[variable] ?? process.env["TEST_DATABASE_URL"],
      TEST_DATABASE_TEMPLATE: process.env["TEST_DATABASE_TEMPLATE"]
    }))
  )

type Network = Layer.Success<typeof Mock.layer> | Layer.Success<typeof WebhookTransport.layer>

/** Starts a cell in a database of its own. All cells have one network. */
const startCell = Effect.fnUntraced(function*(
  name: string,
  variable: string,
  network: Context.Context<Network>,
  { instead = Layer.empty, tuning = Layer.empty }: Options
) {
  const services = yield* Layer.build(Layer.fresh(
    Crm.layer.pipe(
      Layer.provide(tuning),
      Layer.provideMerge(Layer.provideMerge(Postgres.layer, database(variable))),
      Layer.provideMerge(Layer.succeedContext(network))
    )
  ))
  const replaced = yield* Layer.build(Layer.provideMerge(instead, Layer.succeedContext(services)))
  const respond = yield* Effect.provideContext(makeApi(replaced), replaced)
  // The rest of a request's context is that of the process.
  const settings = Context.makeUnsafe<never>(
    new Map(Array.from(replaced.mapUnsafe).filter(([key]) => !services.mapUnsafe.has(key)))
  )
  return {
    services,
    settings,
    cell: new Cell(name, {
      services,
      respond,
      readiness: Effect.succeed({ status: "ok" }),
      isMoving: (digest) => Effect.orDie(Effect.provideContext(DepartedKeys.has(digest), services))
    })
  }
})

type Started = Effect.Success<ReturnType<typeof startCell>>

/** Returns the cell of the actor, or of the organization that a parameter names; null if there is neither. */
type CellOf = (parameters: ReadonlyArray<unknown>) => Effect.Effect<Started | null>

/**
 * Makes a service that uses that of one cell. An operation of no organization, such as a round of the worker, runs in all cells.
 */
const spread = <S extends object>(shapes: ReadonlyMap<Started, S>, cellOf: CellOf): S => {
  const [first] = shapes.values()
  const run = (use: (shape: S) => Effect.Effect<unknown>, parameters: ReadonlyArray<unknown>) =>
    Effect.flatMap(cellOf(parameters), (cell) => {
      const shape = cell === null ? undefined : shapes.get(cell)
      if (shape !== undefined) return use(shape)
      return Effect.map(Effect.forEach(shapes.values(), use), ([result]) => result)
    })
  const valueOf = (name: keyof S): unknown => {
    const value = first?.[name]
    if (Effect.isEffect(value)) return run((shape) => shape[name] as Effect.Effect<unknown>, [])
    if (typeof value !== "function") return value
    return (...parameters: ReadonlyArray<unknown>) =>
      run(
        (shape) => (shape[name] as (...parameters: ReadonlyArray<unknown>) => Effect.Effect<unknown>)(...parameters),
        parameters
      )
  }
  // The names are those of the service, and each value has the type that it has there.
  return Object.fromEntries(Object.keys(first ?? {}).map((name) => [name, valueOf(name as keyof S)])) as S
}

/** Returns what can be the ID of an organization: a parameter, or its field. */
const idOf = (parameter: unknown): unknown =>
  typeof parameter === "object" && parameter !== null && "organization_id" in parameter
    ? parameter.organization_id
    : parameter

/** Makes the operations over all cells. Those of the network are of no cell, and those of callbacks find their cell. */
const operationsOver = Effect.fnUntraced(function*(started: ReadonlyArray<Started>, network: Context.Context<Network>) {
  const cells = new Map<unknown, Started>()
  const cellOf: CellOf = (parameters) =>
    Effect.map(Effect.serviceOption(CurrentActor), (actor) => {
      const id = [...Option.toArray(actor), ...parameters].map(idOf).find((each) => cells.has(each))
      return cells.get(id) ?? null
    })
  const [first] = started
  const all = new Map<string, unknown>()
  for (const [key, value] of first?.services.mapUnsafe ?? []) {
    const shapes = new Map(started.map((each) => [each, each.services.mapUnsafe.get(key) as object]))
    all.set(key, typeof value === "object" && value !== null ? spread(shapes, cellOf) : value)
  }
  const organizations = Context.get(Context.makeUnsafe<Organizations>(all), Organizations)
  let created = 0
  const create: typeof organizations.create = (input) =>
    Effect.suspend(() => {
      const next = started[created++ % started.length]
      if (next === undefined) return Effect.die(new Error("There is no cell"))
      return Effect.tap(
        Context.get(next.services, Organizations).create(input),
        ({ organization }) => Effect.sync(() => cells.set(organization.id, next))
      )
    })
  const callbacks = yield* Layer.build(
    Layer.provide(Callbacks.layer, Layer.succeed(Cells, { all: started.map(({ cell }) => cell) }))
  )
  return Context.makeUnsafe<Services>(all).pipe(
    Context.merge(callbacks),
    Context.merge(network),
    Context.add(Organizations, { ...organizations, create })
  )
})

/** Builds the HTTP server of a process with several cells, and returns its API as a function. */
const handlerOver = Effect.fnUntraced(function*(started: ReadonlyArray<Started>) {
  let handler: Composition["handler"] = () => Promise.reject(new Error("The server has not started"))
  const server = HttpServer.make({
    serve: (app) =>
      Effect.contextWith((context: Context.Context<never>) =>
        Effect.sync(() => {
          handler = HttpEffect.toWebHandlerWith<never, HttpServerRequest.HttpServerRequest | Scope.Scope>(
            started.reduce((merged, { settings }) => Context.merge(merged, settings), context)
          )(app)
        })
      ),
    address: NetAddress.unixPathAddress("unused")
  })
  yield* Layer.build(
    Front.layer({ ingress: Layer.empty }).pipe(
      Layer.provide([
        Layer.succeed(Cells, { all: started.map(({ cell }) => cell) }),
        Layer.succeed(HttpServer.HttpServer, server),
        HttpServer.layerServices,
        Layers.tuning
      ])
    )
  )
  return handler
})

/** Starts three cells, and composes the service over them. */
export const startCells = (options: Options = {}) => {
  const scope = Scope.makeUnsafe()
  const quiet = Layer.succeed(References.MinimumLogLevel, "None")
  const built = Effect.gen(function*() {
    const network = yield* Layer.build(Layer.merge(options.provider ?? Mock.layer, WebhookTransport.layer))
    const started = yield* Effect.forEach(
      Object.entries(servers),
      ([name, variable]) => startCell(name, variable, network, options),
      { concurrency: "unbounded" }
    )
    return { started, handler: yield* handlerOver(started), operations: yield* operationsOver(started, network) }
  }).pipe(Effect.provideService(Scope.Scope, scope), Effect.provide(quiet))
  const all = Effect.runPromise(built)
  const operations = Layer.effectContext(Effect.map(Effect.promise(() => all), ({ operations }) => operations))
  const composition: Composition = {
    runtime: ManagedRuntime.make(Layer.merge(operations, quiet)),
    handler: async (request, context) => (await all).handler(request, context),
    dispose: () => Effect.runPromise(Scope.close(scope, Exit.void))
  }
  /** The cells as a move uses them. */
  const databases = Effect.map(
    Effect.promise(() => all),
    ({ started }) =>
      started.map(({ cell, services }) => ({ name: cell.name, sql: Context.get(services, SqlClient.SqlClient) }))
  )
  return { composition, databases }
}

/** Composes the service over three cells. */
export const compose = (options: Options): Composition => startCells(options).composition
