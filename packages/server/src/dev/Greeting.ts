/** The messages that `dev` prints when it is ready, and when it stops. */
import { manifest } from "../Manifest.ts"
import type { Ready } from "./Demo.ts"
import { orderReady } from "./DemoData.ts"

export const stopping = "Stopping: requests in progress have up to 20 s. Press Ctrl-C again to exit immediately."

export const stopped = "Stopped."

const rows = (values: ReadonlyArray<readonly [string, string | null]>): ReadonlyArray<string> =>
  values.flatMap(([name, value]) => value === null ? [] : [`  ${name.padEnd(13)} ${value}`])

/** The variables of which one gives the root key. */
type KeyVariables = Readonly<Record<"SECRET_KEY" | "SECRET_KEY_FILE", string | null>>

/** Other variables with which commands find the service as it is. */
interface OtherVariables {
  /** Null where no setting describes the provider, as for the fake Graph API. */
  readonly PROVIDER: string | null
  readonly WEBHOOK_ALLOWED_NETWORKS: string
}

/** Returns a file for `source`: the variables that the commands and the guides use. */
export const environment = (ready: Ready, keys: KeyVariables, others: OtherVariables): string => {
  const variables = {
    ...others,
    BASE_URL: ready.base_url,
    API_KEY: ready.api_key,
    ORGANIZATION_ID: ready.organization_id,
    MEMBER_ID: ready.member_id,
    CHANNEL_ID: ready.channels.find(({ type }) => type === "phone_messaging")?.id,
    TEMPLATE_ID: ready.template_ids[0],
    NETWORK_URL: ready.network?.url,
    DATABASE_URL: ready.database_url,
    ...(ready.database_url === null ? { SECRET_KEY: null, SECRET_KEY_FILE: null } : keys)
  }
  const lines = Object.entries(variables).map(([name, value]) =>
    value === null || value === undefined ? `unset ${name}` : `export ${name}='${value}'`
  )
  return `${lines.join("\n")}\n`
}

const missingKey = ({ database_url }: Ready): string =>
  database_url === null
    ? "none: in-memory storage starts empty. Remove --no-demo to create demo data, or remove --storage memory."
    : "none: no organization exists yet"

/** Commands for a shell that has `BASE_URL` and `API_KEY`: a list, and the start of a conversation. */
const curlLines = ({ channels, template_ids }: Ready): ReadonlyArray<string> => {
  const channel = channels.find(({ type }) => type === "phone_messaging")
  // Every provider of `dev` lists the template `order_ready` first.
  const [id] = template_ids
  if (channel === undefined || id === undefined) return []
  const body = { channel_id: channel.id, phone: "+4915112345678", template: orderReady(id, "Kim", "4720") }
  const key = "-H \"Authorization: Bearer $API_KEY\""
  return [
    `curl "$BASE_URL/contacts?page_size=2" ${key}`,
    `curl "$BASE_URL/conversations" ${key} -H "Idempotency-Key: first-try-$(date +%s)" \\
    -H "Content-Type: application/json" -d '${JSON.stringify(body)}'`
  ]
}

const commands = (ready: Ready): ReadonlyArray<string> => {
  if (ready.api_key !== null) return [...curlLines(ready), "npx messaging-crm webhooks listen"]
  if (ready.database_url !== null) {
    return ["npx messaging-crm init --name Acme --owner-name Ada --owner-email ada@acme.example"]
  }
  return []
}

/** Returns the greeting: addresses, the key, and commands to try. `variables` is the path of the file with the environment. */
export const text = (ready: Ready, variables: string): string =>
  [
    "",
    `Messaging CRM ${manifest.version} is running. Press Ctrl-C to stop it.`,
    "",
    ...rows([
      ["API", ready.base_url],
      ["Docs", ready.docs_url],
      ["Console", ready.console_url],
      ["Database", ready.database_url ?? "in memory; its data is lost on exit"],
      ["Graph API", ready.network === null ? null : `${ready.network.url} (fake)`],
      ["API key", ready.api_key ?? missingKey(ready)],
      ["Organization", ready.organization_id]
    ]),
    "",
    "Try it in another terminal:",
    "",
    ...[`. ${variables}`, ...commands(ready)].flatMap((line) => [`  ${line}`, ""])
  ].join("\n")
