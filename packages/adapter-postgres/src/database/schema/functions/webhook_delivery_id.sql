-- The same as core's `deliveryIdOf`: the event's id, its last 48 bits XORed with those of the webhook's id.
CREATE OR REPLACE FUNCTION webhook_delivery_id(event_id uuid, webhook_id uuid) RETURNS uuid
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN (
  left(event_id::text, 24) || lpad(
    to_hex((
      ('x' || right(event_id::text, 12))::bit(48) # ('x' || right(webhook_id::text, 12))::bit(48)
    )::bigint),
    12,
    '0'
  )
)::uuid;
