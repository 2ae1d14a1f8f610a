/** The marked values of the canary test, and every kind of failure that it causes. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { ServerResponse } from "node:http"
import type * as Processes from "../../testing/processes/Processes.ts"

export const word = "kanarienvogel"
export const phone = "+4915155501234"

/** The texts that no record may contain, in lower case: each marked value has one of these in it. */
export const marked = [word, phone.slice(3, -1)]

/** Makes a write of a row end in the fault that one of its values names, such as `fault-53100`. */
export const prepare = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  yield* sql.unsafe(`
    CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$
    DECLARE wanted text := substring(NEW::text FROM 'fault-([0-9A-Za-z]+)');
    BEGIN
      IF wanted IS NULL THEN RETURN NEW; END IF;
      IF wanted = 'lost' THEN PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NEW; END IF;
      RAISE EXCEPTION '${word} in %', NEW USING
        ERRCODE = wanted, DETAIL = NEW::text, HINT = NEW::text, CONSTRAINT = 'some_constraint';
    END $$`)
  const tables = ["contacts", "tags", "conversations", "messages", "sends", "webhooks", "media", "idempotency_keys"]
  for (const table of tables) {
    yield* sql.unsafe(`CREATE TRIGGER fail BEFORE INSERT OR UPDATE ON ${table} FOR EACH ROW EXECUTE FUNCTION fail()`)
  }
})

export const faults = {
  "unique_violation": "23505",
  "check_violation": "23514",
  "foreign_key_violation": "23503",
  "not_null_violation": "23502",
  "string_too_long": "22001",
  "invalid_text": "22P02",
  "serialization_failure": "40001",
  "deadlock_detected": "40P01",
  "lock_not_available": "55P03",
  "statement_timeout": "57014",
  "disk_full": "53100",
  "out_of_memory": "53200",
  "too_many_connections": "53300",
  "io_error": "58030",
  "data_corrupted": "XX001",
  "read_only": "25006",
  "insufficient_privilege": "42501",
  "raised": "P0001",
  "connection_lost": "lost"
} as const

/** The faults that are repeated as conflicts. */
export const conflicts = ["unique_violation", "serialization_failure", "deadlock_detected", "lock_not_available"]

export type Respond = (response: ServerResponse) => void

/** Responses of a provider or an endpoint that repeat marked values. */
export const responses: Readonly<Record<string, Respond>> = {
  "500": (response) => response.writeHead(500).end(`{"error":"${word} ${phone}"}`),
  "no JSON": (response) => response.writeHead(200).end(`${word} ${phone}`),
  "other JSON": (response) => response.writeHead(200).end(`{"provider_message_id":{"${word}":"${phone}"}}`),
  "a reason that nobody knows": (response) => response.writeHead(422).end(`{"reason":"${word}"}`),
  "a redirect": (response) => response.writeHead(302, { location: `http://${word}.example/${phone}` }).end(),
  "no HTTP": (response) => void response.socket?.end(`${word} ${phone}\r\n\r\n`),
  "a reset connection": (response) => void response.socket?.destroy(),
  "half a response": (response) => {
    response.writeHead(200, { "content-length": "100", "x-canary": word }).write(word)
    response.socket?.destroySoon()
  },
  "429": (response) => response.writeHead(429, { "retry-after": word }).end(`{"reason":"${word}"}`),
  "410": (response) => response.writeHead(410, word).end(word)
}

/** Bodies with a text in each field that a person fills. */
export const bodiesOf = (text: string) => ({
  contact: {
    first_name: text,
    last_name: text,
    primary_email: `${text}@example.com`,
    company: text,
    job_title: text,
    city: text,
    region: text,
    country: text,
    street_address: text,
    postal_code: text,
    website_url: `https://example.com/${text}`,
    network_url: `https://example.com/${text}`,
    source: text,
    notes: text
  },
  tag: { name: text, color: "red" },
  message: { type: "text", text }
})

export const { contact, message, tag } = bodiesOf(word)

/** The mistakes of callers, each with a marked value in it. */
export const mistakes: ReadonlyArray<readonly [path: string, init: RequestInit]> = [
  ["/v1/contacts", { method: "POST", body: `{"first_name":"${word}` }],
  ["/v1/contacts", { method: "POST", body: JSON.stringify({ primary_email: word, primary_phone: word }) }],
  ["/v1/contacts", { method: "POST", body: JSON.stringify({ first_name: [word] }) }],
  ["/v1/contacts", { method: "POST", body: word, headers: { "content-type": `text/${word}` } }],
  [`/v1/contacts?query=${word}&cursor=${word}`, {}],
  [`/v1/contacts?lifecycle_stage=${word}`, {}],
  [`/v1/contacts?query=${word}`, {}],
  [`/v1/contacts/${word}`, {}],
  [`/v1/${word}`, {}],
  [`/media/${word}`, {}],
  ["/v1/tags", { headers: { authorization: `Bearer ${word}` } }],
  ["/v1/tags", { method: "POST", headers: { "idempotency-key": `${word} \u00e4` }, body: JSON.stringify(tag) }],
  ["/v1/webhooks", { method: "POST", body: JSON.stringify({ url: `ftp://${word}`, event_types: [word] }) }],
  ["/ingress/graph", { method: "POST", body: word, headers: { "x-hub-signature-256": word } }]
]

/** Commands that fail, with a marked value in what they are given. */
export const commands = (
  organization_id: string
): ReadonlyArray<readonly [ReadonlyArray<string>, Processes.Environment, string?]> => [
  [["migrate"], { DATABASE_URL: `postgres://${word}:${word}@127.0.0.1:1/${word}` }],
  [["serve"], { SECRET_KEY: word }],
  [["serve"], { PROVIDER: "cloud", CLOUD_ACCOUNTS: `{"apps":[{"secret":"${word}"}]}` }],
  [["serve"], { PROVIDER: "cloud", CLOUD_ACCOUNTS: word }],
  [["contacts", "import", "--organization", organization_id, "-"], {}, `first_name,primary_email\n${word},${word}\n`]
]
