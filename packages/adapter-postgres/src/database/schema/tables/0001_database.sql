-- One row, which `require_writable` writes.
CREATE TABLE write_probes (
  id boolean PRIMARY KEY CHECK (id),
  written_at timestamptz NOT NULL
)
WITH (fillfactor = 50);
