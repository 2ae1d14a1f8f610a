import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/**
 * Accounts of channels on their networks, with encrypted tokens.
 *
 * A new table beside the others: processes of an earlier version go on.
 */
export default Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient

  yield* sql`
    CREATE TABLE channel_accounts (
      organization_id uuid NOT NULL,
      channel_id uuid NOT NULL UNIQUE,
      channel_type text COLLATE "C" NOT NULL,
      app_id text COLLATE "C" NOT NULL CHECK (char_length(app_id) BETWEEN 1 AND 200),
      account_id text COLLATE "C" NOT NULL CHECK (char_length(account_id) BETWEEN 1 AND 200),
      page_id text COLLATE "C" CHECK (char_length(page_id) BETWEEN 1 AND 200),
      business_account_id text COLLATE "C",
      token_set_at timestamptz(3) NOT NULL,
      sealed_token text COLLATE "C" NOT NULL,
      version integer NOT NULL DEFAULT 1,
      PRIMARY KEY (organization_id, channel_id),
      FOREIGN KEY (organization_id, channel_id) REFERENCES channels,
      CONSTRAINT channel_accounts_account_unique UNIQUE (channel_type, account_id)
    )
  `
  yield* sql`
    CREATE INDEX channel_accounts_business_account ON channel_accounts (business_account_id, token_set_at)
    WHERE business_account_id IS NOT NULL
  `
})
