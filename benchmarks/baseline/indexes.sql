-- One index for the order of each list, built after the rows are inserted.
SET search_path = baseline, public;
CREATE EXTENSION IF NOT EXISTS pg_trgm WITH SCHEMA public;

CREATE INDEX contacts_recent ON contacts (organization_id, updated_at DESC, id DESC);
CREATE INDEX contacts_staged ON contacts (organization_id, lifecycle_stage, updated_at DESC, id DESC)
  WHERE lifecycle_stage IS NOT NULL;
CREATE INDEX contacts_owned ON contacts (organization_id, owner_user_id, updated_at DESC, id DESC)
  WHERE owner_user_id IS NOT NULL;
CREATE INDEX contact_texts_trigrams ON contact_texts USING gin (search_text gin_trgm_ops);
CREATE INDEX contact_tags_of_tag ON contact_tags (tag_id, contact_id);
CREATE INDEX conversations_of_contact ON conversations (contact_id);
CREATE INDEX messages_recent ON messages (conversation_id, created_at DESC, id DESC);
CREATE INDEX sends_queued ON sends (conversation_id, id) WHERE status = 'queued';
CREATE INDEX jobs_due ON jobs (due_at) WHERE leased_until IS NULL;
CREATE INDEX events_recent ON events (organization_id, created_at DESC, id DESC);
CREATE INDEX webhooks_active ON webhooks (organization_id) WHERE status = 'active';
CREATE INDEX deliveries_recent ON deliveries (webhook_id, created_at DESC, id DESC);
CREATE INDEX idempotency_keys_age ON idempotency_keys USING brin (created_at);
