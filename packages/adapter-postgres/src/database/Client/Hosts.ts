/** The hosts that a URL of the database names, in libpq's form `postgres://user:password@host:port,host:port/database`. */
import { type Array, Option, Redacted } from "effect"

export interface Host {
  readonly host: string
  readonly port: number
  readonly database: string
  /** The URL with this host alone, for the driver, which does not support a list of hosts. */
  readonly url: Redacted.Redacted
}

export type Hosts = Array.NonEmptyReadonlyArray<Host>

const form = /^(postgres(?:ql)?:\/\/(?:[^/?#]*@)?)([^/?#@]*)(.*)$/s

/** The values of `target_session_attrs` that do not ask for a server without writes. */
const attributes = new Set(["any", "read-write", "primary"])

/** Reads the address in the same way as the driver. */
const hostOf = (text: string): Host => {
  const { hostname, pathname, port, searchParams } = new URL(text)
  const host = searchParams.get("host") ?? decodeURIComponent(hostname.replace(/^\[|\]$/g, ""))
  return {
    host: host === "" ? "localhost" : host,
    port: Number(searchParams.get("port") ?? port) || 5432,
    database: searchParams.get("dbname") ?? decodeURIComponent(pathname.slice(1)),
    url: Redacted.make(text)
  }
}

/** Returns the hosts of a URL, at least one, in its order. None if it is invalid, or requires a read-only server. */
export const parse = (url: string): Option.Option<Hosts> => {
  const [, before = "", list = "", after = ""] = form.exec(url) ?? []
  const { searchParams } = new URL(`postgres://host${after.replace(/^[^?]*/s, "")}`)
  if (before === "" || !attributes.has(searchParams.get("target_session_attrs") ?? "any")) return Option.none()
  const hosts = Option.all(list.split(",").map((host) => Option.liftThrowable(hostOf)(`${before}${host}${after}`)))
  return Option.flatMap(
    hosts,
    ([first, ...others]) => first === undefined ? Option.none() : Option.some([first, ...others])
  )
}
