/**
 * The routes of the contract, which are found before Effect's router runs: it does not distinguish a wrong method from an
 * unknown path, and reads some paths differently from the contract.
 */
import { Layer, Option } from "effect"
import { HttpMiddleware, type HttpServerRequest } from "effect/http"
import { HttpApi } from "effect/http-api"
import { Api } from "../api/Api.ts"

export interface Route {
  readonly method: string
  /** As the contract spells it, `/v1/contacts/:contact_id`: what is logged instead of the path. */
  readonly template: string
}

/** A node in the tree of path names. */
interface Branch {
  /** The routes that end here, one for each method. */
  readonly routes: Array<Route>
  readonly names: Map<string, Branch>
  /** The branch for a parameter, which every name without percent-encoding matches. */
  parameter: Branch | null
}

const makeBranch = (): Branch => ({ routes: [], names: new Map(), parameter: null })

/** Returns the branch of a name of a template. A missing one is added. */
const branchOf = (from: Branch, name: string): Branch => {
  if (name.startsWith(":")) return from.parameter ??= makeBranch()
  const known = from.names.get(name)
  if (known !== undefined) return known
  const made = makeBranch()
  from.names.set(name, made)
  return made
}

/** The tree of every route of the contract, with those of the document and of media links. */
const root: Branch = (() => {
  const root = makeBranch()
  const add = (method: string, template: string) =>
    template.split("/").reduce(branchOf, root).routes.push({ method, template })
  add("GET", "/v1/openapi.json")
  add("GET", "/media/:link")
  HttpApi.reflect(Api, {
    onGroup: () => {},
    onEndpoint: ({ endpoint }) => void add(endpoint.method, endpoint.path)
  })
  return root
})()

/** Returns the path of a request. `new URL` would read `//a/b` as a host, and throw at `//`. */
export const pathOf = ({ url }: HttpServerRequest.HttpServerRequest): string => {
  const end = url.search(/[?#]/)
  return end === -1 ? url : url.slice(0, end)
}

/** Returns the query of a request, as it was sent. */
export const queryOf = ({ url }: HttpServerRequest.HttpServerRequest): string => /\?([^#]*)/.exec(url)?.[1] ?? ""

const findRoutes = (from: Branch, names: ReadonlyArray<string>, index: number): ReadonlyArray<Route> => {
  const name = names[index]
  if (name === undefined) return from.routes
  const named = from.names.get(name)
  const found = named === undefined ? [] : findRoutes(named, names, index + 1)
  if (found.length > 0 || from.parameter === null || name === "" || name.includes("%")) return found
  return findRoutes(from.parameter, names, index + 1)
}

/** Returns the routes of a path, one for each method. */
export const routesOf = (path: string): ReadonlyArray<Route> => findRoutes(root, path.split("/"), 0)

/** Whether a path begins as the API's do, in any spelling. The others on the router are an embedder's own. */
const isApiPath = (path: string): boolean => {
  const [, name = ""] = path.split(/[/;]/)
  const decoded = Option.liftThrowable(decodeURIComponent)(name)
  return Option.isNone(decoded) || root.names.get("")?.names.has(decoded.value) === true
}

/** Returns the methods of the routes of a path. */
export const methodsOf = (routes: ReadonlyArray<Route>): ReadonlyArray<string> => {
  const methods = routes.map(({ method }) => method)
  return methods.includes("GET") ? [...methods, "HEAD"] : methods
}

/** The forms of a path for which Effect's router may find a route that the contract does not have. */
const misread_forms: ReadonlyArray<(path: string, routes: ReadonlyArray<Route>) => boolean> = [
  // It accepts an empty ID.
  (path) => path.endsWith("/"),
  // It begins the query at `;`.
  (path) => path.includes(";"),
  // It decodes a name such as `%63ontacts`.
  (path, routes) => routes.length === 0 && path.includes("%")
]

/** Whether the contract has no route for a request to the API, although Effect's router may find one. */
export const isUnroutable = (method: string, path: string, routes: ReadonlyArray<Route>): boolean => {
  // It reads the name in `GET /contacts/upsert` as an ID.
  if (routes.length > 0 && !methodsOf(routes).includes(method)) return true
  return misread_forms.some((isMisread) => isMisread(path, routes)) && isApiPath(path)
}

/** Returns the contract's route for a request; undefined if the contract has none. */
export const endpointOf = (request: HttpServerRequest.HttpServerRequest): Route | undefined => {
  const path = pathOf(request)
  const routes = routesOf(path)
  const method = request.method === "HEAD" ? "GET" : request.method
  return isUnroutable(request.method, path, routes) ? undefined : routes.find((route) => route.method === method)
}

/** Layer that names the span of a request by its route, and makes none for probes, metrics, and the docs page. Provide it to the server of the router. */
export const spanNames = Layer.mergeAll(
  Layer.succeed(HttpMiddleware.SpanNameGenerator, (request) => {
    const [route] = routesOf(pathOf(request))
    return route === undefined ? request.method : `${request.method} ${route.template}`
  }),
  Layer.succeed(HttpMiddleware.TracerDisabledWhen, (request) => /^\/(health|metrics|docs)\b/.test(request.url))
)
