-- The schema, as PostgreSQL shows it. Its sources are in src/database/schema. To write this file again:
-- npm test -- packages/adapter-postgres/test/Migrations.test.ts --update

CREATE UNLOGGED TABLE api_key_windows (
  key_id uuid NOT NULL,
  opened_at timestamp with time zone NOT NULL,
  count integer NOT NULL,
  CONSTRAINT api_key_windows_count_check CHECK ((count > 0)),
  CONSTRAINT api_key_windows_pkey PRIMARY KEY (key_id)
)
WITH (fillfactor=50, autovacuum_vacuum_scale_factor=0.02);

CREATE TABLE api_keys (
  organization_id uuid NOT NULL,
  id uuid NOT NULL,
  digest text COLLATE "C" NOT NULL,
  name text NOT NULL,
  scopes jsonb NOT NULL,
  created_by uuid NOT NULL,
  created_at timestamp(3) with time zone NOT NULL,
  expires_at timestamp(3) with time zone NOT NULL,
  revoked_at timestamp(3) with time zone,
  last_used_at timestamp(3) with time zone,
  version integer NOT NULL DEFAULT 1,
  CONSTRAINT api_keys_digest_check CHECK ((char_length(digest) = 64)),
  CONSTRAINT api_keys_digest_key UNIQUE (digest),
  CONSTRAINT api_keys_name_check CHECK (((char_length(name) >= 1) AND (char_length(name) <= 200))),
  CONSTRAINT api_keys_organization_id_created_by_fkey FOREIGN KEY (organization_id, created_by) REFERENCES members(organization_id, id),
  CONSTRAINT api_keys_organization_id_fkey FOREIGN KEY (organization_id) REFERENCES organizations(id),
  CONSTRAINT api_keys_pkey PRIMARY KEY (organization_id, id),
  CONSTRAINT api_keys_scopes_check CHECK ((jsonb_array_length(scopes) > 0))
);

CREATE TABLE audit_records (
  organization_id uuid NOT NULL,
  at timestamp(3) with time zone NOT NULL,
  id uuid NOT NULL,
  operation text COLLATE "C" NOT NULL,
  resource_id uuid NOT NULL,
  key_id uuid,
  member_id uuid,
  request_id text COLLATE "C",
  CONSTRAINT audit_records_pkey PRIMARY KEY (organization_id, at, id)
);

CREATE INDEX audit_records_age ON audit_records USING brin (at) WITH (pages_per_range='32');

CREATE TRIGGER audit_records_are_final BEFORE UPDATE ON audit_records FOR EACH STATEMENT EXECUTE FUNCTION reject_update();

CREATE TABLE channel_accounts (
  organization_id uuid NOT NULL,
  channel_id uuid NOT NULL,
  channel_type text COLLATE "C" NOT NULL,
  app_id text COLLATE "C" NOT NULL,
  account_id text COLLATE "C" NOT NULL,
  page_id text COLLATE "C",
  business_account_id text COLLATE "C",
  token_set_at timestamp(3) with time zone NOT NULL,
  sealed_token text COLLATE "C" NOT NULL,
  version integer NOT NULL DEFAULT 1,
  CONSTRAINT channel_accounts_account_id_check CHECK (((char_length(account_id) >= 1) AND (char_length(account_id) <= 200))),
  CONSTRAINT channel_accounts_account_unique UNIQUE (channel_type, account_id),
  CONSTRAINT channel_accounts_app_id_check CHECK (((char_length(app_id) >= 1) AND (char_length(app_id) <= 200))),
  CONSTRAINT channel_accounts_channel_id_key UNIQUE (channel_id),
  CONSTRAINT channel_accounts_organization_id_channel_id_fkey FOREIGN KEY (organization_id, channel_id) REFERENCES channels(organization_id, id),
  CONSTRAINT channel_accounts_page_id_check CHECK (((char_length(page_id) >= 1) AND (char_length(page_id) <= 200))),
  CONSTRAINT channel_accounts_pkey PRIMARY KEY (organization_id, channel_id)
);

CREATE INDEX channel_accounts_business_account ON channel_accounts USING btree (business_account_id, token_set_at) WHERE (business_account_id IS NOT NULL);

CREATE TABLE channel_holds (
  organization_id uuid NOT NULL,
  channel_id uuid NOT NULL,
  reason text COLLATE "C" NOT NULL,
  held_at timestamp(3) with time zone NOT NULL,
  until timestamp(3) with time zone,
  level smallint NOT NULL,
  version integer NOT NULL DEFAULT 1,
  CONSTRAINT channel_holds_organization_id_channel_id_fkey FOREIGN KEY (organization_id, channel_id) REFERENCES channels(organization_id, id),
  CONSTRAINT channel_holds_pkey PRIMARY KEY (organization_id, channel_id)
);

CREATE INDEX channel_holds_paused ON channel_holds USING btree (reason) WHERE (until IS NULL);

CREATE TABLE channels (
  organization_id uuid NOT NULL,
  id uuid NOT NULL,
  type text NOT NULL,
  name text NOT NULL,
  address text COLLATE "C" NOT NULL,
  phone_messaging_business_account_id text,
  connected_at timestamp(3) with time zone NOT NULL,
  version integer NOT NULL DEFAULT 1,
  CONSTRAINT channels_address_check CHECK (((char_length(address) >= 1) AND (char_length(address) <= 200))),
  CONSTRAINT channels_address_unique UNIQUE (organization_id, type, address),
  CONSTRAINT channels_check CHECK (((type = 'phone_messaging'::text) = (phone_messaging_business_account_id IS NOT NULL))),
  CONSTRAINT channels_id_key UNIQUE (id),
  CONSTRAINT channels_name_check CHECK (((char_length(name) >= 1) AND (char_length(name) <= 200))),
  CONSTRAINT channels_organization_id_fkey FOREIGN KEY (organization_id) REFERENCES organizations(id),
  CONSTRAINT channels_phone_messaging_business_account_id_check CHECK (((char_length(phone_messaging_business_account_id) >= 1) AND (char_length(phone_messaging_business_account_id) <= 200))),
  CONSTRAINT channels_pkey PRIMARY KEY (organization_id, id),
  CONSTRAINT channels_type_check CHECK ((type = ANY (ARRAY['phone_messaging'::text, 'photo_social'::text, 'page_messaging'::text])))
);

CREATE TABLE contact_fields (
  organization_id uuid NOT NULL,
  id uuid NOT NULL,
  key text COLLATE "C" NOT NULL,
  name text NOT NULL,
  type text NOT NULL,
  options jsonb,
  created_at timestamp(3) with time zone NOT NULL,
  version integer NOT NULL DEFAULT 1,
  CONSTRAINT contact_fields_check CHECK (((type = 'select'::text) = (options IS NOT NULL))),
  CONSTRAINT contact_fields_key_check CHECK ((key ~ '^[a-z][a-z0-9_]{0,63}$'::text)),
  CONSTRAINT contact_fields_key_unique UNIQUE (organization_id, key),
  CONSTRAINT contact_fields_name_check CHECK (((char_length(name) >= 1) AND (char_length(name) <= 200))),
  CONSTRAINT contact_fields_organization_id_fkey FOREIGN KEY (organization_id) REFERENCES organizations(id),
  CONSTRAINT contact_fields_pkey PRIMARY KEY (organization_id, id),
  CONSTRAINT contact_fields_type_check CHECK ((type = ANY (ARRAY['text'::text, 'number'::text, 'date'::text, 'boolean'::text, 'select'::text, 'url'::text])))
);

CREATE TABLE contact_tags (
  organization_id uuid NOT NULL,
  contact_id uuid NOT NULL,
  tag_id uuid NOT NULL,
  CONSTRAINT contact_tags_organization_id_contact_id_fkey FOREIGN KEY (organization_id, contact_id) REFERENCES contacts(organization_id, id),
  CONSTRAINT contact_tags_organization_id_tag_id_fkey FOREIGN KEY (organization_id, tag_id) REFERENCES tags(organization_id, id),
  CONSTRAINT contact_tags_pkey PRIMARY KEY (organization_id, contact_id, tag_id)
);

CREATE INDEX contact_tags_tag ON contact_tags USING btree (organization_id, tag_id, contact_id);

CREATE TABLE contact_texts (
  organization_id uuid NOT NULL,
  contact_id uuid NOT NULL,
  search_text text COLLATE "C" NOT NULL,
  CONSTRAINT contact_texts_organization_id_contact_id_fkey FOREIGN KEY (organization_id, contact_id) REFERENCES contacts(organization_id, id),
  CONSTRAINT contact_texts_pkey PRIMARY KEY (organization_id, contact_id)
);

CREATE INDEX contact_texts_keys ON contact_texts USING gin (text_keys(organization_id, contact_id, search_text)) WITH (gin_pending_list_limit='256');

ALTER INDEX contact_texts_keys ALTER COLUMN 1 SET STATISTICS 0;

CREATE TABLE contacts (
  organization_id uuid NOT NULL,
  id uuid NOT NULL,
  updated_at timestamp(3) with time zone NOT NULL,
  version integer NOT NULL DEFAULT 1,
  tags jsonb NOT NULL DEFAULT '[]'::jsonb,
  identities jsonb NOT NULL DEFAULT '[]'::jsonb,
  search_text text COLLATE "C" NOT NULL,
  owner_user_id uuid,
  lifecycle_stage text,
  primary_phone text COLLATE "C",
  first_name text,
  last_name text,
  primary_email text,
  company text,
  job_title text,
  birthday text,
  city text,
  region text,
  country text,
  street_address text,
  postal_code text,
  website_url text,
  network_url text,
  source text,
  notes text,
  lead_status text,
  custom_values jsonb STORAGE EXTERNAL NOT NULL,
  last_activity_at timestamp(3) with time zone,
  last_activity_preview text,
  last_conversation_id uuid,
  email_key text COLLATE "C",
  CONSTRAINT contacts_birthday_check CHECK ((birthday ~ '^[0-9]{4}-[0-9]{2}-[0-9]{2}$'::text)),
  CONSTRAINT contacts_city_check CHECK (((char_length(city) >= 1) AND (char_length(city) <= 200))),
  CONSTRAINT contacts_company_check CHECK (((char_length(company) >= 1) AND (char_length(company) <= 200))),
  CONSTRAINT contacts_country_check CHECK (((char_length(country) >= 1) AND (char_length(country) <= 200))),
  CONSTRAINT contacts_custom_values_check CHECK ((jsonb_typeof(custom_values) = 'object'::text)),
  CONSTRAINT contacts_first_name_check CHECK (((char_length(first_name) >= 1) AND (char_length(first_name) <= 200))),
  CONSTRAINT contacts_job_title_check CHECK (((char_length(job_title) >= 1) AND (char_length(job_title) <= 200))),
  CONSTRAINT contacts_last_activity_preview_check CHECK ((char_length(last_activity_preview) <= 140)),
  CONSTRAINT contacts_last_name_check CHECK (((char_length(last_name) >= 1) AND (char_length(last_name) <= 200))),
  CONSTRAINT contacts_lead_status_check CHECK ((lead_status = ANY (ARRAY['new'::text, 'open'::text, 'in_progress'::text, 'open_deal'::text, 'unqualified'::text, 'attempted_to_contact'::text, 'connected'::text, 'bad_timing'::text]))),
  CONSTRAINT contacts_lifecycle_stage_check CHECK ((lifecycle_stage = ANY (ARRAY['subscriber'::text, 'lead'::text, 'marketing_qualified'::text, 'sales_qualified'::text, 'opportunity'::text, 'customer'::text, 'evangelist'::text, 'other'::text]))),
  CONSTRAINT contacts_network_url_check CHECK (((char_length(network_url) >= 1) AND (char_length(network_url) <= 2048))),
  CONSTRAINT contacts_notes_check CHECK ((char_length(notes) <= 200000)),
  CONSTRAINT contacts_organization_id_fkey FOREIGN KEY (organization_id) REFERENCES organizations(id),
  CONSTRAINT contacts_organization_id_owner_user_id_fkey FOREIGN KEY (organization_id, owner_user_id) REFERENCES members(organization_id, id),
  CONSTRAINT contacts_pkey PRIMARY KEY (organization_id, id),
  CONSTRAINT contacts_postal_code_check CHECK (((char_length(postal_code) >= 1) AND (char_length(postal_code) <= 200))),
  CONSTRAINT contacts_primary_email_check CHECK (((char_length(primary_email) >= 1) AND (char_length(primary_email) <= 320))),
  CONSTRAINT contacts_primary_phone_check CHECK ((primary_phone ~ '^[+][1-9][0-9]{4,14}$'::text)),
  CONSTRAINT contacts_region_check CHECK (((char_length(region) >= 1) AND (char_length(region) <= 200))),
  CONSTRAINT contacts_source_check CHECK (((char_length(source) >= 1) AND (char_length(source) <= 200))),
  CONSTRAINT contacts_street_address_check CHECK (((char_length(street_address) >= 1) AND (char_length(street_address) <= 200))),
  CONSTRAINT contacts_website_url_check CHECK (((char_length(website_url) >= 1) AND (char_length(website_url) <= 2048)))
);

CREATE INDEX contacts_email ON contacts USING btree (organization_id, email_key, updated_at DESC, id DESC) WHERE (email_key IS NOT NULL);

CREATE INDEX contacts_owned ON contacts USING btree (organization_id, owner_user_id, updated_at DESC, id DESC) WHERE (owner_user_id IS NOT NULL);

CREATE INDEX contacts_phone ON contacts USING btree (organization_id, primary_phone, updated_at DESC, id DESC) WHERE (primary_phone IS NOT NULL);

CREATE INDEX contacts_recent ON contacts USING btree (organization_id, updated_at DESC, id DESC);

CREATE INDEX contacts_staged ON contacts USING btree (organization_id, lifecycle_stage, updated_at DESC, id DESC) WHERE (lifecycle_stage IS NOT NULL);

CREATE TABLE conversations (
  organization_id uuid NOT NULL,
  id uuid NOT NULL,
  channel_id uuid NOT NULL,
  contact_id uuid NOT NULL,
  identity_id uuid NOT NULL,
  status text NOT NULL,
  close_category text,
  assigned_user_id uuid,
  agent_id text,
  created_at timestamp(3) with time zone NOT NULL,
  opened_at timestamp(3) with time zone NOT NULL,
  closed_at timestamp(3) with time zone,
  last_activity_at timestamp(3) with time zone NOT NULL,
  last_activity_preview text,
  last_inbound_at timestamp(3) with time zone,
  version integer NOT NULL DEFAULT 1,
  CONSTRAINT conversations_check CHECK (((status = 'closed'::text) = (closed_at IS NOT NULL))),
  CONSTRAINT conversations_check1 CHECK (((status = 'closed'::text) OR (close_category IS NULL))),
  CONSTRAINT conversations_close_category_check CHECK (((char_length(close_category) >= 1) AND (char_length(close_category) <= 64))),
  CONSTRAINT conversations_last_activity_preview_check CHECK ((char_length(last_activity_preview) <= 140)),
  CONSTRAINT conversations_organization_id_assigned_user_id_fkey FOREIGN KEY (organization_id, assigned_user_id) REFERENCES members(organization_id, id),
  CONSTRAINT conversations_organization_id_channel_id_fkey FOREIGN KEY (organization_id, channel_id) REFERENCES channels(organization_id, id),
  CONSTRAINT conversations_organization_id_contact_id_fkey FOREIGN KEY (organization_id, contact_id) REFERENCES contacts(organization_id, id),
  CONSTRAINT conversations_organization_id_contact_id_identity_id_fkey FOREIGN KEY (organization_id, contact_id, identity_id) REFERENCES identities(organization_id, contact_id, id),
  CONSTRAINT conversations_pkey PRIMARY KEY (organization_id, id),
  CONSTRAINT conversations_status_check CHECK ((status = ANY (ARRAY['open'::text, 'closed'::text]))),
  CONSTRAINT conversations_thread_unique UNIQUE (organization_id, channel_id, identity_id)
);

CREATE INDEX conversations_assigned ON conversations USING btree (organization_id, assigned_user_id, channel_id, status, last_activity_at DESC, id DESC);

CREATE INDEX conversations_of_channel ON conversations USING btree (organization_id, channel_id, status, last_activity_at DESC, id DESC);

CREATE INDEX conversations_recent ON conversations USING btree (organization_id, last_activity_at DESC, id DESC);

CREATE INDEX conversations_status ON conversations USING btree (organization_id, status, last_activity_at DESC, id DESC);

CREATE TABLE idempotency_keys (
  organization_id uuid NOT NULL,
  key text COLLATE "C" NOT NULL,
  fingerprint text NOT NULL,
  status smallint,
  body text,
  sealed boolean NOT NULL,
  request_id text NOT NULL,
  created_at timestamp(3) with time zone NOT NULL,
  CONSTRAINT idempotency_keys_check CHECK (((status IS NULL) = (body IS NULL))),
  CONSTRAINT idempotency_keys_fingerprint_check CHECK ((char_length(fingerprint) = 64)),
  CONSTRAINT idempotency_keys_key_check CHECK (((char_length(key) >= 8) AND (char_length(key) <= 200))),
  CONSTRAINT idempotency_keys_pkey PRIMARY KEY (organization_id, key)
);

CREATE INDEX idempotency_keys_age ON idempotency_keys USING btree (created_at);

CREATE TABLE identities (
  organization_id uuid NOT NULL,
  id uuid NOT NULL,
  contact_id uuid NOT NULL,
  channel_type text NOT NULL,
  external_id text COLLATE "C" NOT NULL,
  display_name text,
  username text,
  version integer NOT NULL DEFAULT 1,
  marketing_opt_out_at timestamp(3) with time zone,
  marketing_opt_in_at timestamp(3) with time zone,
  CONSTRAINT identities_channel_type_check CHECK ((channel_type = ANY (ARRAY['phone_messaging'::text, 'photo_social'::text, 'page_messaging'::text]))),
  CONSTRAINT identities_external_id_check CHECK (((char_length(external_id) >= 1) AND (char_length(external_id) <= 500))),
  CONSTRAINT identities_external_id_unique UNIQUE (organization_id, channel_type, external_id),
  CONSTRAINT identities_organization_id_contact_id_fkey FOREIGN KEY (organization_id, contact_id) REFERENCES contacts(organization_id, id) DEFERRABLE INITIALLY DEFERRED,
  CONSTRAINT identities_organization_id_contact_id_id_key UNIQUE (organization_id, contact_id, id),
  CONSTRAINT identities_pkey PRIMARY KEY (organization_id, id)
);

CREATE TABLE identity_names (
  organization_id uuid NOT NULL,
  channel_type text NOT NULL,
  name text COLLATE "C" NOT NULL,
  identity_id uuid NOT NULL,
  version integer NOT NULL DEFAULT 1,
  CONSTRAINT identity_names_name_check CHECK (((char_length(name) >= 1) AND (char_length(name) <= 500))),
  CONSTRAINT identity_names_organization_id_identity_id_fkey FOREIGN KEY (organization_id, identity_id) REFERENCES identities(organization_id, id) DEFERRABLE INITIALLY DEFERRED,
  CONSTRAINT identity_names_pkey PRIMARY KEY (organization_id, channel_type, name)
);

CREATE TABLE media (
  organization_id uuid NOT NULL,
  id uuid NOT NULL,
  mime_type text,
  filename text,
  byte_size integer,
  begun_at timestamp with time zone NOT NULL,
  CONSTRAINT media_byte_size_check CHECK (((byte_size >= 0) AND (byte_size <= 16000000))),
  CONSTRAINT media_organization_id_fkey FOREIGN KEY (organization_id) REFERENCES organizations(id),
  CONSTRAINT media_pkey PRIMARY KEY (organization_id, id)
);

CREATE INDEX media_unfinished ON media USING btree (begun_at) WHERE (byte_size IS NULL);

CREATE TABLE media_slices (
  organization_id uuid NOT NULL,
  media_id uuid NOT NULL,
  start integer NOT NULL,
  bytes bytea STORAGE EXTERNAL NOT NULL,
  CONSTRAINT media_slices_bytes_check CHECK ((octet_length(bytes) <= 16000000)),
  CONSTRAINT media_slices_organization_id_media_id_fkey FOREIGN KEY (organization_id, media_id) REFERENCES media(organization_id, id) ON DELETE CASCADE,
  CONSTRAINT media_slices_pkey PRIMARY KEY (organization_id, media_id, start),
  CONSTRAINT media_slices_start_check CHECK ((start >= 0))
);

CREATE TABLE members (
  organization_id uuid NOT NULL,
  id uuid NOT NULL,
  name text NOT NULL,
  email text NOT NULL,
  email_key text COLLATE "C" NOT NULL,
  role text NOT NULL,
  created_at timestamp(3) with time zone NOT NULL,
  left_at timestamp(3) with time zone,
  logged_out_at timestamp(3) with time zone,
  version integer NOT NULL DEFAULT 1,
  CONSTRAINT members_email_check CHECK (((char_length(email) >= 3) AND (char_length(email) <= 320))),
  CONSTRAINT members_name_check CHECK (((char_length(name) >= 1) AND (char_length(name) <= 200))),
  CONSTRAINT members_organization_id_fkey FOREIGN KEY (organization_id) REFERENCES organizations(id),
  CONSTRAINT members_pkey PRIMARY KEY (organization_id, id),
  CONSTRAINT members_role_check CHECK ((role = ANY (ARRAY['owner'::text, 'admin'::text, 'member'::text])))
);

CREATE UNIQUE INDEX members_email_key_unique ON members USING btree (organization_id, email_key) WHERE (left_at IS NULL);

CREATE TABLE messages (
  organization_id uuid NOT NULL,
  conversation_id uuid NOT NULL,
  id uuid NOT NULL,
  channel_id uuid NOT NULL,
  direction text NOT NULL,
  type text NOT NULL,
  text text,
  sender jsonb NOT NULL,
  status text NOT NULL,
  media jsonb STORAGE EXTERNAL,
  provider_message_id text COLLATE "C",
  created_at timestamp(3) with time zone NOT NULL,
  sent_at timestamp(3) with time zone,
  delivered_at timestamp(3) with time zone,
  read_at timestamp(3) with time zone,
  failed_at timestamp(3) with time zone,
  edited_at timestamp(3) with time zone,
  deleted_at timestamp(3) with time zone,
  version integer NOT NULL DEFAULT 1,
  details jsonb STORAGE EXTERNAL,
  CONSTRAINT messages_check CHECK (((direction = 'inbound'::text) = (status = 'received'::text))),
  CONSTRAINT messages_direction_check CHECK ((direction = ANY (ARRAY['inbound'::text, 'outbound'::text]))),
  CONSTRAINT messages_organization_id_conversation_id_fkey FOREIGN KEY (organization_id, conversation_id) REFERENCES conversations(organization_id, id),
  CONSTRAINT messages_pkey PRIMARY KEY (organization_id, conversation_id, id),
  CONSTRAINT messages_provider_message_id_check CHECK (((char_length(provider_message_id) >= 1) AND (char_length(provider_message_id) <= 500))),
  CONSTRAINT messages_status_check CHECK ((status = ANY (ARRAY['received'::text, 'sent'::text, 'delivered'::text, 'read'::text, 'failed'::text]))),
  CONSTRAINT messages_type_check CHECK (((char_length(type) >= 1) AND (char_length(type) <= 40)))
);

CREATE INDEX messages_age ON messages USING btree (created_at);

CREATE INDEX messages_recent ON messages USING btree (organization_id, conversation_id, created_at DESC, id DESC);

CREATE TABLE messaging_crm_schema (
  name text COLLATE "C" NOT NULL,
  hash text COLLATE "C" NOT NULL,
  version text COLLATE "C" NOT NULL,
  applied_at timestamp with time zone NOT NULL,
  CONSTRAINT messaging_crm_schema_pkey PRIMARY KEY (name)
);

CREATE TABLE organization_moves (
  organization_id uuid NOT NULL,
  other text COLLATE "C" NOT NULL,
  state text COLLATE "C" NOT NULL,
  run uuid NOT NULL,
  closed_at timestamp(3) with time zone,
  started_at timestamp(3) with time zone NOT NULL DEFAULT now(),
  CONSTRAINT organization_moves_pkey PRIMARY KEY (organization_id),
  CONSTRAINT organization_moves_state_check CHECK ((state = ANY (ARRAY['open'::text, 'draining'::text, 'closed'::text, 'departed'::text, 'arriving'::text, 'arrived'::text])))
);

CREATE TABLE organizations (
  id uuid NOT NULL,
  name text NOT NULL,
  created_at timestamp(3) with time zone NOT NULL,
  default_country text,
  version integer NOT NULL DEFAULT 1,
  CONSTRAINT organizations_default_country_check CHECK ((default_country ~ '^[A-Z]{2}$'::text)),
  CONSTRAINT organizations_name_check CHECK (((char_length(name) >= 1) AND (char_length(name) <= 200))),
  CONSTRAINT organizations_pkey PRIMARY KEY (id)
);

CREATE TABLE provider_callbacks (
  id uuid NOT NULL,
  source text NOT NULL,
  body bytea NOT NULL,
  received_at timestamp(3) with time zone NOT NULL,
  channel_id uuid,
  organization_id uuid NOT NULL,
  people jsonb NOT NULL DEFAULT '[]'::jsonb,
  version integer NOT NULL DEFAULT 1,
  CONSTRAINT provider_callbacks_people_check CHECK ((jsonb_typeof(people) = 'array'::text)),
  CONSTRAINT provider_callbacks_pkey PRIMARY KEY (id)
);

CREATE UNIQUE INDEX provider_callbacks_key ON provider_callbacks USING btree (organization_id, id);

CREATE TABLE provider_messages (
  organization_id uuid NOT NULL,
  channel_id uuid NOT NULL,
  provider_message_id text COLLATE "C" NOT NULL,
  conversation_id uuid,
  message_id uuid,
  early_updates jsonb NOT NULL,
  created_at timestamp(3) with time zone NOT NULL,
  version integer NOT NULL DEFAULT 1,
  CONSTRAINT provider_messages_check CHECK (((conversation_id IS NULL) = (message_id IS NULL))),
  CONSTRAINT provider_messages_pkey PRIMARY KEY (organization_id, channel_id, provider_message_id),
  CONSTRAINT provider_messages_provider_message_id_check CHECK (((char_length(provider_message_id) >= 1) AND (char_length(provider_message_id) <= 500)))
);

CREATE INDEX provider_messages_early ON provider_messages USING btree (created_at) WHERE (message_id IS NULL);

CREATE TABLE secret_canary (
  is_only boolean NOT NULL DEFAULT true,
  sealed text COLLATE "C" NOT NULL,
  CONSTRAINT secret_canary_is_only_check CHECK (is_only),
  CONSTRAINT secret_canary_pkey PRIMARY KEY (is_only)
);

CREATE TABLE sends (
  organization_id uuid NOT NULL,
  id uuid NOT NULL,
  conversation_id uuid NOT NULL,
  channel_id uuid NOT NULL,
  recipient text NOT NULL,
  member_id uuid,
  content jsonb STORAGE EXTERNAL NOT NULL,
  status text NOT NULL,
  message_id uuid,
  failure_reason text,
  created_at timestamp(3) with time zone NOT NULL,
  first_attempt_at timestamp(3) with time zone,
  version integer NOT NULL DEFAULT 1,
  may_be_sent boolean NOT NULL DEFAULT false,
  CONSTRAINT sends_check CHECK (((status = 'sent'::text) = (message_id IS NOT NULL))),
  CONSTRAINT sends_check1 CHECK (((status = 'failed'::text) = (failure_reason IS NOT NULL))),
  CONSTRAINT sends_organization_id_conversation_id_fkey FOREIGN KEY (organization_id, conversation_id) REFERENCES conversations(organization_id, id),
  CONSTRAINT sends_pkey PRIMARY KEY (organization_id, id),
  CONSTRAINT sends_status_check CHECK ((status = ANY (ARRAY['queued'::text, 'sending'::text, 'sent'::text, 'failed'::text, 'unknown'::text])))
);

CREATE INDEX sends_age ON sends USING btree (created_at);

CREATE INDEX sends_failed ON sends USING btree (organization_id, created_at DESC, id DESC) WHERE (failure_reason IS NOT NULL);

CREATE INDEX sends_of_conversation ON sends USING btree (organization_id, conversation_id, created_at DESC, id DESC);

CREATE INDEX sends_open ON sends USING btree (organization_id, created_at DESC, id DESC) WHERE ((message_id IS NULL) AND (failure_reason IS NULL));

CREATE INDEX sends_recent ON sends USING btree (organization_id, created_at DESC, id DESC);

CREATE TABLE storage_use (
  organization_id uuid NOT NULL,
  expires_at timestamp(3) with time zone NOT NULL,
  bytes bigint NOT NULL,
  CONSTRAINT storage_use_bytes_check CHECK ((bytes > 0)),
  CONSTRAINT storage_use_pkey PRIMARY KEY (organization_id, expires_at)
)
WITH (fillfactor=70);

CREATE INDEX storage_use_age ON storage_use USING btree (expires_at);

CREATE TABLE tags (
  organization_id uuid NOT NULL,
  id uuid NOT NULL,
  name text NOT NULL,
  name_key text COLLATE "C" NOT NULL,
  color text NOT NULL,
  version integer NOT NULL DEFAULT 1,
  CONSTRAINT tags_color_check CHECK ((color = ANY (ARRAY['gray'::text, 'red'::text, 'orange'::text, 'amber'::text, 'green'::text, 'teal'::text, 'blue'::text, 'indigo'::text, 'purple'::text, 'pink'::text]))),
  CONSTRAINT tags_name_check CHECK (((char_length(name) >= 1) AND (char_length(name) <= 40))),
  CONSTRAINT tags_name_key_unique UNIQUE (organization_id, name_key),
  CONSTRAINT tags_organization_id_fkey FOREIGN KEY (organization_id) REFERENCES organizations(id),
  CONSTRAINT tags_pkey PRIMARY KEY (organization_id, id)
);

CREATE TABLE webhook_deliveries (
  organization_id uuid NOT NULL,
  id uuid NOT NULL,
  webhook_id uuid NOT NULL,
  event_id uuid NOT NULL,
  event_type text NOT NULL,
  status text NOT NULL,
  attempt_count integer NOT NULL,
  response_status integer,
  response_body text,
  failure_code text,
  duration_ms integer,
  last_attempt_at timestamp(3) with time zone,
  next_attempt_at timestamp(3) with time zone,
  created_at timestamp(3) with time zone NOT NULL,
  version integer NOT NULL DEFAULT 1,
  CONSTRAINT webhook_deliveries_attempt_count_check CHECK ((attempt_count >= 0)),
  CONSTRAINT webhook_deliveries_check CHECK (((status = 'pending'::text) = (next_attempt_at IS NOT NULL))),
  CONSTRAINT webhook_deliveries_duration_ms_check CHECK ((duration_ms >= 0)),
  CONSTRAINT webhook_deliveries_organization_id_event_id_fkey FOREIGN KEY (organization_id, event_id) REFERENCES webhook_events(organization_id, id) ON DELETE CASCADE,
  CONSTRAINT webhook_deliveries_pkey PRIMARY KEY (organization_id, id),
  CONSTRAINT webhook_deliveries_status_check CHECK ((status = ANY (ARRAY['pending'::text, 'succeeded'::text, 'failed'::text])))
);

CREATE INDEX webhook_deliveries_event ON webhook_deliveries USING btree (organization_id, event_id);

CREATE INDEX webhook_deliveries_pending ON webhook_deliveries USING btree (organization_id, webhook_id, created_at DESC, id DESC) WHERE (status = 'pending'::text);

CREATE INDEX webhook_deliveries_recent ON webhook_deliveries USING btree (organization_id, webhook_id, created_at DESC, id DESC);

CREATE TABLE webhook_events (
  organization_id uuid NOT NULL,
  id uuid NOT NULL,
  type text NOT NULL,
  body text NOT NULL,
  created_at timestamp(3) with time zone NOT NULL,
  full_body text,
  contact_id uuid,
  message_id uuid,
  committed_in xid8 NOT NULL DEFAULT pg_current_xact_id(),
  earlier_commits xid8[],
  CONSTRAINT webhook_events_check CHECK (((full_body IS NULL) = (contact_id IS NULL))),
  CONSTRAINT webhook_events_check1 CHECK (((full_body IS NOT NULL) OR (message_id IS NULL))),
  CONSTRAINT webhook_events_pkey PRIMARY KEY (organization_id, id)
);

CREATE INDEX webhook_events_age ON webhook_events USING btree (created_at);

CREATE INDEX webhook_events_committed ON webhook_events USING btree (organization_id, committed_in, id);

CREATE INDEX webhook_events_contact ON webhook_events USING btree (organization_id, contact_id) WHERE (contact_id IS NOT NULL);

CREATE INDEX webhook_events_message ON webhook_events USING btree (organization_id, message_id) WHERE (message_id IS NOT NULL);

CREATE INDEX webhook_events_recent ON webhook_events USING btree (organization_id, type, created_at, id);

CREATE TABLE webhook_replays (
  organization_id uuid NOT NULL,
  webhook_id uuid NOT NULL,
  id uuid NOT NULL,
  since timestamp(3) with time zone NOT NULL,
  created_at timestamp(3) with time zone NOT NULL,
  position_at timestamp(3) with time zone NOT NULL,
  position_id uuid NOT NULL,
  version integer NOT NULL DEFAULT 1,
  CONSTRAINT webhook_replays_organization_id_webhook_id_fkey FOREIGN KEY (organization_id, webhook_id) REFERENCES webhooks(organization_id, id),
  CONSTRAINT webhook_replays_pkey PRIMARY KEY (organization_id, webhook_id)
);

CREATE TABLE webhooks (
  organization_id uuid NOT NULL,
  id uuid NOT NULL,
  url text NOT NULL,
  event_types text[] NOT NULL,
  include_resource boolean NOT NULL,
  status text NOT NULL,
  sealed_secret text COLLATE "C" NOT NULL,
  consecutive_failures integer NOT NULL,
  first_failure_at timestamp(3) with time zone,
  created_at timestamp(3) with time zone NOT NULL,
  disabled_at timestamp(3) with time zone,
  version integer NOT NULL DEFAULT 1,
  CONSTRAINT webhooks_check CHECK (((status = 'disabled'::text) = (disabled_at IS NOT NULL))),
  CONSTRAINT webhooks_check1 CHECK (((consecutive_failures = 0) = (first_failure_at IS NULL))),
  CONSTRAINT webhooks_consecutive_failures_check CHECK ((consecutive_failures >= 0)),
  CONSTRAINT webhooks_event_types_check CHECK (((cardinality(event_types) >= 1) AND (cardinality(event_types) <= 5))),
  CONSTRAINT webhooks_organization_id_fkey FOREIGN KEY (organization_id) REFERENCES organizations(id),
  CONSTRAINT webhooks_pkey PRIMARY KEY (organization_id, id),
  CONSTRAINT webhooks_status_check CHECK ((status = ANY (ARRAY['active'::text, 'disabled'::text]))),
  CONSTRAINT webhooks_url_check CHECK (((char_length(url) >= 1) AND (char_length(url) <= 2048)))
);

CREATE INDEX webhooks_active ON webhooks USING btree (organization_id, include_resource DESC) WHERE (status = 'active'::text);

CREATE INDEX webhooks_recent ON webhooks USING btree (organization_id, created_at DESC, id DESC);

CREATE TABLE work (
  organization_id uuid NOT NULL,
  lane_name text COLLATE "C" NOT NULL,
  kind text NOT NULL,
  lane uuid NOT NULL,
  ref uuid NOT NULL,
  seq bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
  due_at timestamp(3) with time zone NOT NULL,
  attempt integer NOT NULL DEFAULT 0,
  leased_until timestamp(3) with time zone,
  token uuid,
  trace text COLLATE "C",
  defects integer NOT NULL DEFAULT 0,
  CONSTRAINT work_attempt_check CHECK ((attempt >= 0)),
  CONSTRAINT work_check CHECK (((leased_until IS NULL) = (token IS NULL))),
  CONSTRAINT work_pkey PRIMARY KEY (kind, ref),
  CONSTRAINT work_trace_check CHECK ((trace ~ '^00-[0-9a-f]{32}-[0-9a-f]{16}-0[01]$'::text))
)
WITH (fillfactor=70, autovacuum_vacuum_scale_factor=0.01, autovacuum_vacuum_cost_delay=0);

CREATE INDEX work_leased ON work USING btree (lane_name, leased_until) WHERE (leased_until IS NOT NULL);

CREATE INDEX work_order ON work USING btree (lane_name, seq);

CREATE INDEX work_ready ON work USING btree (lane_name, due_at, seq) WHERE (leased_until IS NULL);

CREATE TABLE work_lanes (
  name text COLLATE "C" NOT NULL,
  cap smallint NOT NULL,
  allowed smallint NOT NULL,
  fifo boolean NOT NULL,
  next_due timestamp(3) with time zone NOT NULL,
  paused_until timestamp(3) with time zone,
  served_at timestamp(3) with time zone,
  kind text COLLATE "C" NOT NULL GENERATED ALWAYS AS (split_part(name, ':'::text, 1)) STORED,
  closed boolean NOT NULL DEFAULT false,
  emptied_at timestamp(3) with time zone,
  organization_id uuid NOT NULL,
  CONSTRAINT work_lanes_check CHECK (((allowed >= 1) AND (allowed <= cap))),
  CONSTRAINT work_lanes_pkey PRIMARY KEY (name)
)
WITH (fillfactor=70, autovacuum_vacuum_scale_factor=0.01, autovacuum_vacuum_cost_delay=0);

CREATE INDEX work_lanes_due ON work_lanes USING btree (kind, organization_id, next_due) WHERE (next_due < 'infinity'::timestamp with time zone);

CREATE INDEX work_lanes_empty ON work_lanes USING btree (emptied_at) WHERE (emptied_at IS NOT NULL);

CREATE TABLE write_probes (
  id boolean NOT NULL,
  written_at timestamp with time zone NOT NULL,
  CONSTRAINT write_probes_id_check CHECK (id),
  CONSTRAINT write_probes_pkey PRIMARY KEY (id)
)
WITH (fillfactor=50);

CREATE OR REPLACE FUNCTION claim_items(names text[], most integer, at timestamp with time zone, lease_end timestamp with time zone, claim uuid, holders uuid[], held integer[], organization_most integer)
 RETURNS SETOF work
 LANGUAGE plpgsql
AS $function$
#variable_conflict use_column
BEGIN
  RETURN QUERY
  WITH due AS (
    SELECT
      item.id,
      lane.organization_id,
      lane.next_due,
      lane.allowed,
      leased.items + row_number() OVER (PARTITION BY lane.name ORDER BY item.due_at, item.seq) AS round
    FROM work_lanes lane
    CROSS JOIN LATERAL leased_items(lane.name) leased
    CROSS JOIN LATERAL waiting_items(lane.name, lane.fifo, greatest(0, lane.allowed - leased.items)) item
    WHERE lane.name = ANY(names) AND coalesce(lane.paused_until <= at, true) AND item.due_at <= at
  ), turns AS (
    SELECT
      due.id,
      due.next_due,
      due.round,
      coalesce(holder.items, 0) + row_number() OVER (PARTITION BY due.organization_id ORDER BY round, next_due) AS turn,
      (organization_most + coalesce(holder.items, 0) + 1) / 2 AS share
    FROM due
    LEFT JOIN unnest(holders, held) AS holder (id, items) ON holder.id = due.organization_id
    WHERE due.round <= due.allowed
  ), next AS (
    SELECT id
    FROM turns
    -- An organization leaves as many free as it holds, and a lane of it as many of the organization's as the lane holds.
    WHERE round <= share - turn + 1
    ORDER BY turn, next_due
    LIMIT most
  ), free AS (
    -- No other claim has taken one of them: its lane is locked.
    SELECT ctid AS id
    FROM work
    WHERE ctid = ANY(ARRAY(SELECT id FROM next))
    FOR UPDATE SKIP LOCKED
  )
  UPDATE work
  SET leased_until = lease_end, token = claim, attempt = work.attempt + 1
  WHERE ctid = ANY(ARRAY(SELECT id FROM free))
  RETURNING work.*;
END
$function$;

CREATE OR REPLACE FUNCTION claim_work(wanted text, most integer, at timestamp with time zone, lease_end timestamp with time zone, claim uuid, holders uuid[], held integer[], organization_most integer)
 RETURNS TABLE(organization_id uuid, kind text, lane uuid, lane_cap integer, ref uuid, attempt integer, defects integer, token uuid, trace text)
 LANGUAGE plpgsql
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_seqscan TO 'off'
 SET enable_bitmapscan TO 'off'
 SET enable_sort TO 'off'
AS $function$
#variable_conflict use_column
DECLARE
  names text[];
  claimed work[];
BEGIN
  LOOP
    names := ARRAY(SELECT lock_due_lanes(wanted, most, at, holders, held, organization_most));
    EXIT WHEN cardinality(names) = 0;
    claimed := ARRAY(SELECT claim_items(names, most, at, lease_end, claim, holders, held, organization_most));
    PERFORM schedule_lanes(names, ARRAY(SELECT lane_name FROM unnest(claimed)), at);

    -- When a full page of lanes had no item to claim, read the next page: none of these lanes is due any more.
    EXIT WHEN cardinality(claimed) > 0 OR cardinality(names) < most;
  END LOOP;
  RETURN QUERY
    SELECT
      item.organization_id,
      item.kind,
      item.lane,
      (SELECT allowed::integer FROM work_lanes WHERE name = item.lane_name),
      item.ref,
      item.attempt,
      item.defects,
      item.token,
      item.trace
    FROM unnest(claimed) item;
END
$function$;

CREATE OR REPLACE FUNCTION commit_requires(held boolean, stands boolean)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
BEGIN
  IF NOT held THEN
    RAISE EXCEPTION 'the lease of the claimed item has ended' USING ERRCODE = 'MC001';
  END IF;
  IF NOT stands THEN
    RAISE EXCEPTION 'a row has changed since it was loaded' USING ERRCODE = 'serialization_failure';
  END IF;
END
$function$;

CREATE OR REPLACE FUNCTION find_contacts(organization uuid, from_at timestamp with time zone, from_id uuid, size bigint, owner uuid, stage text, tag uuid, channel text, has_phones boolean, terms text[], since timestamp with time zone)
 RETURNS SETOF contacts
 LANGUAGE plpgsql
 STABLE ROWS 50
AS $function$
DECLARE
  tagged CONSTANT jsonb := CASE WHEN tag IS NOT NULL THEN jsonb_build_array(jsonb_build_object('id', tag)) END;
  channel_filter CONSTANT jsonb := jsonb_build_array(jsonb_build_object('channel_type', channel));
  -- How many contacts the turn looks up at most, and how many it reads otherwise.
  lookup_max bigint := 100;
  read_max bigint := 500;
  -- The last `lookup_max` that was too low.
  exceeded_max bigint := 0;
  found_ids uuid[];
  missing bigint := size;
  added bigint;
  last_read contacts;
BEGIN
  LOOP
    -- A lower maximum would be exceeded again, and a slightly higher one probably, too.
    IF lookup_max >= 1.5 * exceeded_max THEN
      -- The smallest of up to three lists: each has all contacts that match one filter, or is too long.
      SELECT ids INTO found_ids
      FROM (VALUES
        -- The contacts with the tag.
        (CASE WHEN tag IS NOT NULL THEN ARRAY(
          SELECT contact_id FROM contact_tags WHERE organization_id = organization AND tag_id = tag LIMIT lookup_max + 1
        ) END),
        -- The contacts in the stage. Without an owner, an index has them in the list's order.
        (CASE WHEN stage IS NOT NULL AND owner IS NOT NULL THEN ARRAY(
          SELECT id FROM contacts WHERE organization_id = organization AND lifecycle_stage = stage LIMIT lookup_max + 1
        ) END),
        -- The contacts whose text contains a term. The index of texts returns all that may contain it at once, so a sample of
        -- one in 256 first shows about how many there are.
        (CASE WHEN terms IS NOT NULL AND NOT EXISTS (
          SELECT FROM contact_texts
          WHERE text_keys(organization_id, contact_id, search_text) @> term_keys(organization, terms[1], 1)
            OR text_keys(organization_id, contact_id, search_text) @> term_keys(organization, terms[2], 1)
          OFFSET lookup_max / 256
        ) THEN ARRAY(
          SELECT contact_id FROM contact_texts
          WHERE (
              text_keys(organization_id, contact_id, search_text) @> term_keys(organization, terms[1], 0)
              OR text_keys(organization_id, contact_id, search_text) @> term_keys(organization, terms[2], 0)
            )
            AND (strpos(search_text, terms[1]) > 0 OR strpos(search_text, terms[2]) > 0)
          LIMIT lookup_max + 1
        ) END)
      ) AS lookups (ids)
      WHERE cardinality(ids) <= lookup_max
      ORDER BY cardinality(ids)
      LIMIT 1;

      -- Otherwise, the contacts with an identity on the channel. If it has phones, a phone number counts as one. No index has
      -- their IDs, so this list takes the longest, and is made only if no other is short enough.
      IF channel IS NOT NULL AND found_ids IS NULL THEN
        SELECT coalesce(array_agg(id), '{}') INTO found_ids
        FROM (
          SELECT contact_id AS id FROM identities WHERE organization_id = organization AND channel_type = channel
          UNION ALL
          SELECT id FROM contacts
          WHERE organization_id = organization AND has_phones AND primary_phone IS NOT NULL
          LIMIT lookup_max + 1
        ) AS identified
        HAVING count(*) <= lookup_max;
      END IF;
      exceeded_max := lookup_max;
    END IF;

    -- One of the four parts has rows: those that were looked up, or the next ones of the owner, the stage, or all. A limit
    -- of 0 skips a part. A condition would do so too, but PostgreSQL then reads all columns of each row.
    RETURN QUERY
    SELECT contact.*
    FROM (
      SELECT contact.*
      FROM (SELECT * FROM contacts WHERE organization_id = organization AND id = ANY(found_ids) OFFSET 0) AS contact
      WHERE (contact.updated_at, contact.id) < (from_at, from_id) AND contact.updated_at >= since
      UNION ALL
      (
        SELECT * FROM contacts
        WHERE organization_id = organization AND owner_user_id = owner
          AND (updated_at, id) < (from_at, from_id) AND updated_at >= since
        ORDER BY updated_at DESC, id DESC
        LIMIT read_max * (found_ids IS NULL)::integer
      )
      UNION ALL
      (
        SELECT * FROM contacts
        WHERE organization_id = organization AND lifecycle_stage = stage
          AND (updated_at, id) < (from_at, from_id) AND updated_at >= since
        ORDER BY updated_at DESC, id DESC
        LIMIT read_max * (found_ids IS NULL AND owner IS NULL)::integer
      )
      UNION ALL
      (
        SELECT * FROM contacts
        WHERE organization_id = organization AND (updated_at, id) < (from_at, from_id) AND updated_at >= since
        ORDER BY updated_at DESC, id DESC
        LIMIT read_max * (found_ids IS NULL AND owner IS NULL AND stage IS NULL)::integer
      )
    ) AS contact
    WHERE (owner IS NULL OR contact.owner_user_id = owner)
      AND (stage IS NULL OR contact.lifecycle_stage = stage)
      AND (tag IS NULL OR contact.tags @> tagged)
      AND (
        channel IS NULL
        OR (has_phones AND contact.primary_phone IS NOT NULL)
        OR contact.identities @> channel_filter
      )
      AND (terms IS NULL OR strpos(contact.search_text, terms[1]) > 0 OR strpos(contact.search_text, terms[2]) > 0)
    ORDER BY contact.updated_at DESC, contact.id DESC
    LIMIT missing;

    GET DIAGNOSTICS added = ROW_COUNT;
    missing := missing - added;
    EXIT WHEN found_ids IS NOT NULL OR missing = 0;
    -- The next turn continues after the last contact that this one read. If this one read fewer than `read_max`, none is left.
    -- These reads have the conditions and the order of those above, or the next page would omit contacts.
    SELECT updated_at, id INTO from_at, from_id
    FROM (
      (
        SELECT updated_at, id FROM contacts
        WHERE organization_id = organization AND owner_user_id = owner
          AND (updated_at, id) < (from_at, from_id) AND updated_at >= since
        ORDER BY updated_at DESC, id DESC
        OFFSET read_max - 1 LIMIT 1
      )
      UNION ALL
      (
        SELECT updated_at, id FROM contacts
        WHERE organization_id = organization AND owner IS NULL AND lifecycle_stage = stage
          AND (updated_at, id) < (from_at, from_id) AND updated_at >= since
        ORDER BY updated_at DESC, id DESC
        OFFSET read_max - 1 LIMIT 1
      )
      UNION ALL
      (
        SELECT updated_at, id FROM contacts
        WHERE organization_id = organization AND owner IS NULL AND stage IS NULL
          AND (updated_at, id) < (from_at, from_id) AND updated_at >= since
        ORDER BY updated_at DESC, id DESC
        OFFSET read_max - 1 LIMIT 1
      )
    ) AS next_start;
    EXIT WHEN NOT FOUND;
    IF read_max >= 32000 THEN
      SELECT * INTO last_read FROM contacts WHERE organization_id = organization AND id = from_id;
      last_read.search_text := NULL;
      RETURN NEXT last_read;
      EXIT;
    END IF;
    -- To fill the page, about `missing * read_max / added` more contacts have to be read. Looking a contact up takes about twice
    -- as long as reading it. Looking 100,000 up takes about a quarter of a second. Looking up as many for a small page as for one
    -- of 25 contacts saves it from many empty pages.
    lookup_max := least(100000, greatest(missing, 25) * read_max / (1 + added) / 2);
    read_max := 4 * read_max;
  END LOOP;
END
$function$;

CREATE OR REPLACE FUNCTION guard_organization()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
DECLARE
  organization CONSTANT uuid := TG_ARGV[0];
  is_work CONSTANT boolean := TG_TABLE_NAME IN ('work', 'work_lanes');
  current text;
BEGIN
  SELECT state INTO current FROM organization_moves WHERE organization_id = organization;
  IF current IN ('open', 'draining') THEN
    PERFORM FROM organizations WHERE id = organization FOR KEY SHARE;
    SELECT state INTO current FROM organization_moves WHERE organization_id = organization;
  END IF;
  IF current IN ('closed', 'departed', 'arriving') THEN
    IF TG_OP <> 'INSERT' AND is_work OR TG_OP = 'DELETE' AND TG_TABLE_NAME IN (
      'audit_records', 'idempotency_keys', 'media', 'messages', 'provider_messages', 'sends', 'storage_use', 'webhook_events'
    ) THEN
      RETURN NULL;
    END IF;
    RAISE EXCEPTION 'the organization is closed for writes' USING ERRCODE = 'MC002';
  END IF;
  IF TG_OP = 'DELETE' THEN
    RETURN OLD;
  END IF;
  -- No claim finds a lane of an organization whose work must end.
  IF current = 'draining' AND TG_TABLE_NAME = 'work_lanes' THEN
    NEW.next_due := 'infinity';
  END IF;
  RETURN NEW;
END
$function$;

CREATE OR REPLACE FUNCTION leased_items(lane_wanted text)
 RETURNS TABLE(items bigint)
 LANGUAGE sql
 STABLE
AS $function$
  SELECT count(*)
  FROM (
    SELECT
    FROM work
    WHERE lane_name = lane_wanted AND leased_until IS NOT NULL
    ORDER BY leased_until
  ) item
$function$;

CREATE OR REPLACE FUNCTION lock_due_lanes(wanted text, most integer, at timestamp with time zone, holders uuid[], held integer[], organization_most integer)
 RETURNS SETOF text
 LANGUAGE plpgsql
AS $function$
BEGIN
  RETURN QUERY
  WITH RECURSIVE organizations AS (
    SELECT (
      SELECT organization_id
      FROM work_lanes
      WHERE kind = wanted AND next_due < 'infinity'
      ORDER BY organization_id
      LIMIT 1
    ) AS id
    UNION ALL
    SELECT (
      SELECT organization_id
      FROM work_lanes
      WHERE kind = wanted AND next_due < 'infinity' AND organization_id > organization.id
      ORDER BY organization_id
      LIMIT 1
    )
    FROM organizations organization
    WHERE organization.id IS NOT NULL
  ), due AS (
    SELECT
      lane.name,
      lane.next_due,
      coalesce(holder.items, 0) + row_number() OVER (PARTITION BY organization.id ORDER BY lane.next_due) AS turn
    FROM organizations organization
    LEFT JOIN unnest(holders, held) AS holder (id, items) ON holder.id = organization.id
    CROSS JOIN LATERAL (
      SELECT name, next_due
      FROM work_lanes
      WHERE kind = wanted AND organization_id = organization.id AND next_due <= at AND next_due < 'infinity'
      ORDER BY next_due
      LIMIT CASE WHEN coalesce(holder.items, 0) < organization_most THEN most * 4 ELSE 0 END
    ) lane
    ORDER BY turn, next_due
    LIMIT most * 4
  )
  SELECT locked.name
  FROM due
  CROSS JOIN LATERAL (
    SELECT name
    FROM work_lanes
    WHERE name = due.name AND next_due <= at
    FOR UPDATE SKIP LOCKED
  ) locked
  ORDER BY due.turn, due.next_due
  LIMIT most;
END
$function$;

CREATE OR REPLACE FUNCTION reject_update()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
BEGIN
  RAISE EXCEPTION 'records of % cannot be changed', TG_TABLE_NAME;
END
$function$;

CREATE OR REPLACE FUNCTION require_writable()
 RETURNS void
 LANGUAGE plpgsql
 SET work_mem TO '64kB'
AS $function$
BEGIN
  PERFORM set_config('synchronous_commit', 'local', true);
  PERFORM count(*) FROM generate_series(1, 30000);
  INSERT INTO write_probes VALUES (true, clock_timestamp())
  ON CONFLICT (id) DO UPDATE SET written_at = excluded.written_at;
END
$function$;

CREATE OR REPLACE FUNCTION schedule_lanes(names text[], served text[], at timestamp with time zone)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
#variable_conflict use_column
BEGIN
  UPDATE work_lanes lane
  SET
    closed = found.closed,
    served_at = CASE WHEN found.served THEN at ELSE lane.served_at END,
    emptied_at = CASE
      WHEN coalesce(found.head_due > at, true) AND NOT found.served AND NOT found.closed THEN coalesce(lane.emptied_at, at)
    END,
    next_due = CASE
      -- A settlement or a sweep opens the lane. The minute is a safety net.
      WHEN found.closed AND found.leased > 0 THEN at + interval '1 minute'
      -- The lane is full, but its settlements may not see `closed`.
      WHEN found.head_due IS NOT NULL AND found.leased >= lane.allowed THEN at + interval '1 second'
      -- An item waits for the end of a pause, for the turn of its lane, or, as the first of a fifo lane, for its time. A lane
      -- that gets none, because it holds its share, goes behind the others.
      WHEN found.closed OR found.head_due <= at THEN greatest(
        lane.paused_until,
        CASE
          WHEN found.served THEN at
          WHEN cardinality(schedule_lanes.served) = 0 THEN at + interval '1 millisecond'
          ELSE lane.served_at
        END,
        found.head_due
      )
      -- The last due item was just claimed: the next claim finds none.
      WHEN found.served THEN at
      -- No item is due. The lane is checked twice more, because a commit may add an item that this statement does not see.
      ELSE greatest(
        lane.paused_until,
        least(
          found.head_due,
          CASE
            WHEN lane.emptied_at IS NULL THEN at + interval '100 milliseconds'
            WHEN lane.emptied_at > at - interval '1 second' THEN at + interval '1 second'
            ELSE 'infinity'
          END
        )
      )
    END
  FROM (
    SELECT
      lane.name,
      is_served.served,
      leased.items AS leased,
      head.due_at AS head_due,
      CASE
        WHEN lane.fifo THEN head.due_at IS NOT NULL OR leased.items > 0
        ELSE leased.items >= lane.allowed AND (lane.closed OR is_served.served)
      END AS closed
    FROM work_lanes lane
    CROSS JOIN LATERAL (SELECT lane.name = ANY(served) AS served) is_served
    CROSS JOIN LATERAL leased_items(lane.name) leased
    LEFT JOIN LATERAL waiting_items(lane.name, lane.fifo, 1) head ON true
    WHERE lane.name = ANY(names)
  ) found
  WHERE lane.name = found.name AND lane.name = ANY(names);
END
$function$;

CREATE OR REPLACE FUNCTION sweep_lanes(at timestamp with time zone)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
DECLARE
  -- Longer than any statement runs that may add an item to the lane.
  emptied_before CONSTANT timestamptz := at - interval '15 seconds';
  names text[];
BEGIN
  names := ARRAY(
    SELECT name
    FROM work_lanes
    WHERE name = ANY(ARRAY(
      SELECT lane_name FROM work WHERE leased_until <= at
      UNION
      SELECT name
      FROM work_lanes lane
      WHERE emptied_at <= emptied_before
        AND (
          EXISTS (SELECT FROM work WHERE lane_name = lane.name AND due_at < lane.next_due)
          OR (allowed = cap AND paused_until IS NULL AND NOT EXISTS (SELECT FROM work WHERE lane_name = lane.name))
        )
    ))
    ORDER BY name
    -- The next sweep takes the others: a statement has 5 seconds.
    LIMIT 10000
    FOR UPDATE SKIP LOCKED
  );

  -- It skips locked items: a concurrent settlement has locked one, and waits for its lane.
  UPDATE work
  SET leased_until = NULL, token = NULL
  WHERE ctid = ANY(ARRAY(
    SELECT ctid
    FROM work
    WHERE lane_name = ANY(names) AND leased_until <= at
    FOR UPDATE SKIP LOCKED
  ));

  DELETE FROM work_lanes lane
  WHERE name = ANY(names) AND emptied_at <= emptied_before AND allowed = cap AND paused_until IS NULL
    AND NOT EXISTS (SELECT FROM work WHERE lane_name = lane.name);

  UPDATE work_lanes lane
  SET closed = false, emptied_at = NULL, next_due = greatest(paused_until, served_at, '-infinity')
  WHERE name = ANY(names) AND EXISTS (SELECT FROM work WHERE lane_name = lane.name);
END
$function$;

CREATE OR REPLACE FUNCTION term_keys(organization uuid, term text, last_bit bigint)
 RETURNS bigint[]
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE STRICT
RETURN ARRAY(SELECT (hashtextextended(substr(ending.ending, place.place, 3), uuid_hash_extended(term_keys.organization, (0)::bigint)) # term_keys.last_bit) FROM "right"(COALESCE(NULLIF(split_part(term_keys.term, '@'::text, 1), ''::text), term_keys.term), 9) ending(ending), LATERAL generate_series(1, GREATEST(1, (char_length(ending.ending) - 2))) place(place));

CREATE OR REPLACE FUNCTION text_keys(organization uuid, contact uuid, whole text)
 RETURNS bigint[]
 LANGUAGE plpgsql
 IMMUTABLE PARALLEL SAFE
AS $function$
DECLARE
  seed bigint := uuid_hash_extended(organization, 0);
  keys bigint[] := '{}';
  first text := '';
  second text := '';
  third text;
BEGIN
  FOREACH third IN ARRAY string_to_array(whole, NULL) LOOP
    keys := keys || ARRAY[
      hashtextextended(third, seed),
      hashtextextended(second || third, seed),
      hashtextextended(first || second || third, seed)
    ];
    first := second;
    second := third;
  END LOOP;
  IF uuid_hash(contact) & 255 = 0 THEN
    keys := keys || ARRAY(SELECT key # 1 FROM unnest(keys) AS key);
  END IF;
  RETURN keys;
END
$function$;

CREATE OR REPLACE FUNCTION waiting_items(lane_wanted text, fifo boolean, most bigint)
 RETURNS TABLE(id tid, due_at timestamp with time zone, seq bigint)
 LANGUAGE sql
 STABLE
AS $function$
  (
    SELECT ctid, due_at, seq
    FROM work
    WHERE fifo AND lane_name = lane_wanted AND leased_until IS NULL
    ORDER BY seq
    LIMIT 1
  )
  UNION ALL
  (
    SELECT ctid, due_at, seq
    FROM work
    WHERE NOT fifo AND lane_name = lane_wanted AND leased_until IS NULL
    ORDER BY due_at, seq
    LIMIT most
  )
$function$;

CREATE OR REPLACE FUNCTION webhook_delivery_id(event_id uuid, webhook_id uuid)
 RETURNS uuid
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE STRICT
RETURN (("left"((event_id)::text, 24) || lpad(to_hex((((('x'::text || "right"((event_id)::text, 12)))::bit(48) # (('x'::text || "right"((webhook_id)::text, 12)))::bit(48)))::bigint), 12, '0'::text)))::uuid;
