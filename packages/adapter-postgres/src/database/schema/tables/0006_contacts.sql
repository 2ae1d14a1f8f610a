-- Contacts, their identities on the channels, and their tags.

-- `identities`, `tags`, and `search_text` are copies, so that a contact is read, listed, and filtered in one table. What is
-- filtered comes first, because PostgreSQL reads a row's columns up to the last one that it needs.
CREATE TABLE contacts (
  organization_id uuid NOT NULL REFERENCES organizations,
  id uuid NOT NULL,
  updated_at timestamptz(3) NOT NULL,
  version integer NOT NULL DEFAULT 1,
  tags jsonb NOT NULL DEFAULT '[]',
  identities jsonb NOT NULL DEFAULT '[]',
  search_text text COLLATE "C" NOT NULL,
  owner_user_id uuid,
  lifecycle_stage text CHECK (
    lifecycle_stage IN (
      'subscriber', 'lead', 'marketing_qualified', 'sales_qualified', 'opportunity', 'customer', 'evangelist', 'other'
    )
  ),
  primary_phone text COLLATE "C" CHECK (primary_phone ~ '^[+][1-9][0-9]{4,14}$'),
  first_name text CHECK (char_length(first_name) BETWEEN 1 AND 200),
  last_name text CHECK (char_length(last_name) BETWEEN 1 AND 200),
  primary_email text CHECK (char_length(primary_email) BETWEEN 1 AND 320),
  company text CHECK (char_length(company) BETWEEN 1 AND 200),
  job_title text CHECK (char_length(job_title) BETWEEN 1 AND 200),
  birthday text CHECK (birthday ~ '^[0-9]{4}-[0-9]{2}-[0-9]{2}$'),
  city text CHECK (char_length(city) BETWEEN 1 AND 200),
  region text CHECK (char_length(region) BETWEEN 1 AND 200),
  country text CHECK (char_length(country) BETWEEN 1 AND 200),
  street_address text CHECK (char_length(street_address) BETWEEN 1 AND 200),
  postal_code text CHECK (char_length(postal_code) BETWEEN 1 AND 200),
  website_url text CHECK (char_length(website_url) BETWEEN 1 AND 2048),
  network_url text CHECK (char_length(network_url) BETWEEN 1 AND 2048),
  source text CHECK (char_length(source) BETWEEN 1 AND 200),
  notes text CHECK (char_length(notes) <= 200000),
  lead_status text CHECK (
    lead_status IN (
      'new', 'open', 'in_progress', 'open_deal', 'unqualified', 'attempted_to_contact', 'connected', 'bad_timing'
    )
  ),
  -- Not compressed, so that lists know its length without reading it.
  custom_values jsonb STORAGE EXTERNAL NOT NULL CHECK (jsonb_typeof(custom_values) = 'object'),
  last_activity_at timestamptz(3),
  last_activity_preview text CHECK (char_length(last_activity_preview) <= 140),
  last_conversation_id uuid,
  email_key text COLLATE "C",
  PRIMARY KEY (organization_id, id),
  FOREIGN KEY (organization_id, owner_user_id) REFERENCES members
);
CREATE INDEX contacts_recent ON contacts (organization_id, updated_at DESC, id DESC);
CREATE INDEX contacts_phone ON contacts (organization_id, primary_phone, updated_at DESC, id DESC)
WHERE primary_phone IS NOT NULL;
CREATE INDEX contacts_email ON contacts (organization_id, email_key, updated_at DESC, id DESC)
WHERE email_key IS NOT NULL;
CREATE INDEX contacts_owned ON contacts (organization_id, owner_user_id, updated_at DESC, id DESC)
WHERE owner_user_id IS NOT NULL;
CREATE INDEX contacts_staged ON contacts (organization_id, lifecycle_stage, updated_at DESC, id DESC)
WHERE lifecycle_stage IS NOT NULL;

-- A table of its own: contacts are updated with every message, and each entry of this table's index, which is defined
-- in `functions/text_keys.sql`, has dozens of keys.
CREATE TABLE contact_texts (
  organization_id uuid NOT NULL,
  contact_id uuid NOT NULL,
  search_text text COLLATE "C" NOT NULL,
  PRIMARY KEY (organization_id, contact_id),
  FOREIGN KEY (organization_id, contact_id) REFERENCES contacts
);

-- Deferred, so that the unique name of an identity can be inserted before its contact.
CREATE TABLE identities (
  organization_id uuid NOT NULL,
  id uuid NOT NULL,
  contact_id uuid NOT NULL,
  channel_type text NOT NULL CHECK (channel_type IN ('phone_messaging', 'photo_social', 'page_messaging')),
  external_id text COLLATE "C" NOT NULL CHECK (char_length(external_id) BETWEEN 1 AND 500),
  display_name text,
  username text,
  version integer NOT NULL DEFAULT 1,
  -- Of the two times, at most one is set: that of the latest preference.
  marketing_opt_out_at timestamptz(3),
  marketing_opt_in_at timestamptz(3),
  PRIMARY KEY (organization_id, id),
  CONSTRAINT identities_external_id_unique UNIQUE (organization_id, channel_type, external_id),
  UNIQUE (organization_id, contact_id, id),
  FOREIGN KEY (organization_id, contact_id) REFERENCES contacts DEFERRABLE INITIALLY DEFERRED
);

-- The external ID and the aliases of each identity. The primary key ensures that a name refers to one identity only.
CREATE TABLE identity_names (
  organization_id uuid NOT NULL,
  channel_type text NOT NULL,
  name text COLLATE "C" NOT NULL CHECK (char_length(name) BETWEEN 1 AND 500),
  identity_id uuid NOT NULL,
  version integer NOT NULL DEFAULT 1,
  PRIMARY KEY (organization_id, channel_type, name),
  FOREIGN KEY (organization_id, identity_id) REFERENCES identities DEFERRABLE INITIALLY DEFERRED
);

CREATE TABLE contact_tags (
  organization_id uuid NOT NULL,
  contact_id uuid NOT NULL,
  tag_id uuid NOT NULL,
  PRIMARY KEY (organization_id, contact_id, tag_id),
  FOREIGN KEY (organization_id, contact_id) REFERENCES contacts,
  FOREIGN KEY (organization_id, tag_id) REFERENCES tags
);
CREATE INDEX contact_tags_tag ON contact_tags (organization_id, tag_id, contact_id);
