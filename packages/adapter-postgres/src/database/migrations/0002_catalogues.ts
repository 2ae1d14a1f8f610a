import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/** Channels, tags and contact fields. Keys that are compared or ordered are computed by core. */
export default Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient

  yield* sql`
    CREATE TABLE channels (
      organization_id uuid NOT NULL REFERENCES organizations,
      id uuid NOT NULL UNIQUE,
      type text NOT NULL CHECK (type IN ('phone_messaging', 'photo_social', 'page_messaging')),
      name text NOT NULL CHECK (char_length(name) BETWEEN 1 AND 200),
      address text COLLATE "C" NOT NULL CHECK (char_length(address) BETWEEN 1 AND 200),
      phone_messaging_business_account_id text CHECK (char_length(phone_messaging_business_account_id) BETWEEN 1 AND 200),
      connected_at timestamptz(3) NOT NULL,
      PRIMARY KEY (organization_id, id),
      CONSTRAINT channels_address_unique UNIQUE (organization_id, type, address),
      CHECK ((type = 'phone_messaging') = (phone_messaging_business_account_id IS NOT NULL))
    )
  `
  yield* sql`
    CREATE TABLE tags (
      organization_id uuid NOT NULL REFERENCES organizations,
      id uuid NOT NULL,
      name text NOT NULL CHECK (char_length(name) BETWEEN 1 AND 40),
      name_key text COLLATE "C" NOT NULL,
      color text NOT NULL CHECK (
        color IN ('gray', 'red', 'orange', 'amber', 'green', 'teal', 'blue', 'indigo', 'purple', 'pink')
      ),
      PRIMARY KEY (organization_id, id),
      CONSTRAINT tags_name_key_unique UNIQUE (organization_id, name_key)
    )
  `
  yield* sql`
    CREATE TABLE contact_fields (
      organization_id uuid NOT NULL REFERENCES organizations,
      id uuid NOT NULL,
      key text COLLATE "C" NOT NULL CHECK (key ~ '^[a-z][a-z0-9_]{0,63}$'),
      name text NOT NULL CHECK (char_length(name) BETWEEN 1 AND 200),
      type text NOT NULL CHECK (type IN ('text', 'number', 'date', 'boolean', 'select', 'url')),
      options jsonb,
      created_at timestamptz(3) NOT NULL,
      PRIMARY KEY (organization_id, id),
      CONSTRAINT contact_fields_key_unique UNIQUE (organization_id, key),
      CHECK ((type = 'select') = (options IS NOT NULL))
    )
  `
})
