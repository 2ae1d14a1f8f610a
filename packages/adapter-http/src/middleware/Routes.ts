import type { HttpServerRequest } from "effect/http"
import { HttpApi } from "effect/http-api"
import { Api } from "../api/Api.ts"

export interface Route {
  readonly method: string
  /** As the contract spells it, `/v1/contacts/:contact_id`: what is logged instead of the path. */
  readonly template: string
  readonly pattern: RegExp
}

/** Every route of the contract and the one of its links, to tell a wrong method from an unknown path. */
const routes: ReadonlyArray<Route> = (() => {
  const found: Array<Route> = []
  const add = (method: string, template: string) =>
    found.push({ method, template, pattern: new RegExp(`^${template.replace(".", "\\.").replace(/:\w+/g, "[^/]+")}$`) })
  add("GET", "/v1/openapi.json")
  add("GET", "/media/:link")
  HttpApi.reflect(Api, {
    onGroup: () => {},
    onEndpoint: ({ endpoint }) => void add(endpoint.method, endpoint.path)
  })
  return found
})()

/** Not `new URL`, to which `//a/b` is a host and `//` is none. */
export const pathOf = ({ url }: HttpServerRequest.HttpServerRequest): string => /^[^?#]*/.exec(url)?.[0] ?? ""

/** Returns the routes of a path, one for each method. */
export const routesOf = (path: string): ReadonlyArray<Route> => routes.filter(({ pattern }) => pattern.test(path))

/** Returns the methods that a path answers to. */
export const methodsOf = (path: string): ReadonlyArray<string> => {
  const methods = routesOf(path).map(({ method }) => method)
  return methods.includes("GET") ? [...methods, "HEAD"] : methods
}
