-- Channels with their accounts and holds, tags, and contact fields.

CREATE TABLE channels (
  organization_id uuid NOT NULL REFERENCES organizations,
  id uuid NOT NULL UNIQUE,
  type text NOT NULL CHECK (type IN ('phone_messaging', 'photo_social', 'page_messaging')),
  name text NOT NULL CHECK (char_length(name) BETWEEN 1 AND 200),
  address text COLLATE "C" NOT NULL CHECK (char_length(address) BETWEEN 1 AND 200),
  phone_messaging_business_account_id text CHECK (char_length(phone_messaging_business_account_id) BETWEEN 1 AND 200),
  connected_at timestamptz(3) NOT NULL,
  version integer NOT NULL DEFAULT 1,
  PRIMARY KEY (organization_id, id),
  CONSTRAINT channels_address_unique UNIQUE (organization_id, type, address),
  CHECK ((type = 'phone_messaging') = (phone_messaging_business_account_id IS NOT NULL))
);

-- Accounts of channels on their networks, with encrypted tokens.
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
);
CREATE INDEX channel_accounts_business_account ON channel_accounts (business_account_id, token_set_at)
WHERE business_account_id IS NOT NULL;

-- Why the sends of a channel wait: at most one row for each channel.
CREATE TABLE channel_holds (
  organization_id uuid NOT NULL,
  channel_id uuid NOT NULL,
  reason text COLLATE "C" NOT NULL,
  held_at timestamptz(3) NOT NULL,
  until timestamptz(3),
  level smallint NOT NULL,
  version integer NOT NULL DEFAULT 1,
  PRIMARY KEY (organization_id, channel_id),
  FOREIGN KEY (organization_id, channel_id) REFERENCES channels
);
CREATE INDEX channel_holds_paused ON channel_holds (reason) WHERE until IS NULL;

CREATE TABLE tags (
  organization_id uuid NOT NULL REFERENCES organizations,
  id uuid NOT NULL,
  name text NOT NULL CHECK (char_length(name) BETWEEN 1 AND 40),
  name_key text COLLATE "C" NOT NULL,
  color text NOT NULL CHECK (
    color IN ('gray', 'red', 'orange', 'amber', 'green', 'teal', 'blue', 'indigo', 'purple', 'pink')
  ),
  version integer NOT NULL DEFAULT 1,
  PRIMARY KEY (organization_id, id),
  CONSTRAINT tags_name_key_unique UNIQUE (organization_id, name_key)
);

CREATE TABLE contact_fields (
  organization_id uuid NOT NULL REFERENCES organizations,
  id uuid NOT NULL,
  key text COLLATE "C" NOT NULL CHECK (key ~ '^[a-z][a-z0-9_]{0,63}$'),
  name text NOT NULL CHECK (char_length(name) BETWEEN 1 AND 200),
  type text NOT NULL CHECK (type IN ('text', 'number', 'date', 'boolean', 'select', 'url')),
  options jsonb,
  created_at timestamptz(3) NOT NULL,
  version integer NOT NULL DEFAULT 1,
  PRIMARY KEY (organization_id, id),
  CONSTRAINT contact_fields_key_unique UNIQUE (organization_id, key),
  CHECK ((type = 'select') = (options IS NOT NULL))
);
