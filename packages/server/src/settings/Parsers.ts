/** How the text of a setting becomes its value. */
import { networks } from "@messaging-crm/adapter-http/outbound/Addresses"
import * as Hosts from "@messaging-crm/adapter-postgres/Hosts"
import { Option, Redacted } from "effect"

/** Returns the parser of an integer in a range, and the text that describes the range. */
export const numberBetween = (min: number, max: number, noun = "a number") => ({
  valid_values: `${noun} from ${min} to ${max}`,
  parse: (text: string): Option.Option<number> =>
    /^[0-9]{1,9}$/.test(text) && Number(text) >= min && Number(text) <= max ? Option.some(Number(text)) : Option.none()
})

/** Parses one of some values. */
export const oneOf = <const Values extends ReadonlyArray<string>>(...values: Values) => (text: string) =>
  Option.fromUndefinedOr(values.find((value): value is Values[number] => value === text))

/** Parses a URL with one of some protocols. */
export const url = (...protocols: ReadonlyArray<string>) => (text: string): Option.Option<string> =>
  URL.canParse(text) && protocols.includes(new URL(text).protocol) ? Option.some(text) : Option.none()

/** Parses a URL that browsers trust: https, or http on this machine. */
const trustedUrl = (text: string): Option.Option<URL> =>
  Option.map(url("http:", "https:")(text), (given) => new URL(given)).pipe(
    Option.filter(({ hostname, password, protocol, username }) =>
      username === "" && password === "" && (protocol === "https:" || /^(?:localhost|127\.0\.0\.1)$/.test(hostname))
    )
  )

/** Parses an origin that browsers trust, with or without a slash at the end. */
export const origin = (text: string): Option.Option<string> =>
  Option.map(
    Option.filter(trustedUrl(text), ({ origin }) => text === origin || text === `${origin}/`),
    ({ origin }) => origin
  )

/** Parses the issuer of an OpenID Connect provider: a URL without query and fragment, which stays as it is spelled. */
export const issuer = (text: string): Option.Option<string> =>
  /[?#\s]/.test(text) ? Option.none() : Option.as(trustedUrl(text), text)

const decode = Option.liftThrowable(decodeURIComponent)

const natsServer = (text: string): Option.Option<string> =>
  Option.filter(url("nats:", "tls:")(text), (server) => {
    const { password, username } = new URL(server)
    return /^\w+:\/\/[^/?#\s]+$/.test(server) && [username, password].every((part) => Option.isSome(decode(part)))
  })

/** Parses a comma-separated list of addresses of NATS. */
export const natsServers = (text: string) =>
  Option.map(
    Option.all(text.split(",").map((server) => natsServer(server.trim()))),
    (servers) => Redacted.make(servers)
  )

/** Parses a URL to which paths are appended. Returns it in ASCII, as headers require, without slashes at its end. */
export const baseUrl = (text: string): Option.Option<string> =>
  /[?#<>\s]/.test(text)
    ? Option.none()
    : Option.map(url("http:", "https:")(text), (given) => new URL(given).href.replace(/\/+$/, ""))

const rootKey = (text: string): Option.Option<Redacted.Redacted<Uint8Array<ArrayBuffer>>> => {
  const bytes = Uint8Array.from(Buffer.from(text.trim(), "base64"))
  return bytes.byteLength === 32 ? Option.some(Redacted.make(bytes)) : Option.none()
}

/** Parses a comma-separated list of keys of 32 bytes in base64. */
export const rootKeys = (text: string) => Option.all(text.split(",").map(rootKey))

const pair = (text: string): Option.Option<readonly [string, string]> => {
  const [, name = "", value = ""] = /^\s*([\w-]+)=(.*)$/.exec(text) ?? []
  return name === "" ? Option.none() : Option.map(decode(value.trim()), (value) => [name, value])
}

/** Parses a comma-separated list of `name=value`; values are percent-encoded. */
export const pairs = (text: string): Option.Option<Readonly<Record<string, string>>> =>
  Option.map(Option.all(text.split(",").map(pair)), Object.fromEntries)

/** Parses a comma-separated list of networks such as `10.0.0.0/8`. */
export const networkList = (text: string) => networks(text.split(",").map((network) => network.trim()))

/** Parses a URL of PostgreSQL. */
export const databaseUrl = (text: string): Option.Option<Redacted.Redacted> =>
  Option.as(Hosts.parse(text), Redacted.make(text))

const areCellNames = (names: ReadonlyArray<string>): boolean =>
  names.every((name) => /^[a-z][a-z0-9-]{0,31}$/.test(name)) && new Set(names).size === names.length

/** Parses distinct names of cells, separated by commas. */
export const cellNames = (text: string): Option.Option<ReadonlyArray<string>> =>
  Option.liftPredicate(areCellNames)(text.split(",").map((name) => name.trim()))

/** The maximum number of cells. A key that a process has not seen before is looked up in each. */
export const cells_max = 64

/** The name of a cell and the URL of its database. */
export interface CellAddress {
  readonly name: string
  readonly url: Redacted.Redacted
}

const cell = (text: string): Option.Option<CellAddress> => {
  const [, name = "", url = ""] = /^([^=]*)=(.*)$/s.exec(text) ?? []
  return Option.map(databaseUrl(url), (url) => ({ name, url }))
}

/** Parses a list of `name=url`, separated by white space. */
export const cells = (text: string): Option.Option<ReadonlyArray<CellAddress>> =>
  Option.filter(
    Option.all(text.trim().split(/\s+/).map(cell)),
    (cells) => cells.length <= cells_max && areCellNames(cells.map(({ name }) => name))
  )
