/** Schemas of one database, of which each has the tables of the service. */
import { Effect } from "effect"
import * as Databases from "./Databases.ts"

/** Returns a URL whose sessions use a schema. A server splits `options` at spaces, and a backslash keeps one. */
export const inSchema = (url: string, schema: string): string => {
  const path = `"${schema}"`.replaceAll(" ", "\\ ")
  return `${url}${url.includes("?") ? "&" : "?"}options=${encodeURIComponent(`-csearch_path=${path}`)}`
}

/** Creates schemas in a database, and returns the URL of each. */
export const create = (url: string, schemas: ReadonlyArray<string>) =>
  Effect.forEach(schemas, (schema) => Effect.as(Databases.run(url, `CREATE SCHEMA "${schema}"`), inSchema(url, schema)))
