/*
 * The schema of a log, by versions. A migration only adds, so that instances of a release run on the schema of their own
 * version and on the next one. `$schema` stands for the schema's quoted name.
 *
 * Offsets of a partition are dense and in the order of commits: `append` locks the partition's row, which nothing ever updates
 * but retention, and only then reads its last offset. A reader that has read up to an offset never finds a smaller one later.
 */

export interface Migration {
  readonly version: number
  readonly sql: string
}

const FIRST = `
CREATE TABLE $schema.migrations (
  version integer PRIMARY KEY,
  at timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE $schema.log (
  is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
  id text NOT NULL
);
COMMENT ON TABLE $schema.log IS 'The id of this log, by which readers tell it from others';

CREATE TABLE $schema.topics (
  id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  name text COLLATE "C" NOT NULL UNIQUE CHECK (name ~ '^[a-zA-Z0-9._-]{1,249}$'),
  uid uuid NOT NULL DEFAULT gen_random_uuid()
);

CREATE TABLE $schema.partitions (
  id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  topic integer NOT NULL REFERENCES $schema.topics,
  number integer NOT NULL,
  first_offset bigint NOT NULL DEFAULT 0,
  UNIQUE (topic, number)
);
COMMENT ON COLUMN $schema.partitions.first_offset IS 'Records before it were deleted by retention';

CREATE TABLE $schema.records (
  partition integer NOT NULL,
  "offset" bigint NOT NULL,
  at timestamptz NOT NULL,
  key bytea,
  headers bytea,
  value bytea NOT NULL,
  PRIMARY KEY (partition, "offset")
);
CREATE INDEX ON $schema.records USING brin (at) WITH (autosummarize = on);
COMMENT ON COLUMN $schema.records.at IS 'The arrival of the event';
COMMENT ON COLUMN $schema.records.headers IS 'For each: length of name (u32, little endian), name, length of value, value; read them by header()';
-- rows are never updated, and deleted from the front: an insert is what makes the visibility map and statistics old
ALTER TABLE $schema.records SET (fillfactor = 100, autovacuum_vacuum_insert_scale_factor = 0.05, autovacuum_vacuum_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.05);

DO $do$
BEGIN
  ALTER TABLE $schema.records ALTER COLUMN value SET COMPRESSION lz4;
EXCEPTION WHEN feature_not_supported OR invalid_parameter_value THEN
  -- this server was built without lz4: pglz
  NULL;
END
$do$;

CREATE FUNCTION $schema.append(
  partitions integer[], times bigint[], key_bytes integer[], header_bytes integer[], value_bytes integer[], bytes bytea
) RETURNS TABLE (partition integer, first_offset bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $do$
#variable_conflict use_column
BEGIN
  IF current_setting('fsync') <> 'on' OR current_setting('full_page_writes') <> 'on' THEN
    RAISE EXCEPTION 'fsync or full_page_writes of the server is off: a crash loses what it has acknowledged' USING ERRCODE = 'HL001';
  END IF;
  IF current_setting('transaction_isolation') <> 'read committed' THEN
    RAISE EXCEPTION 'the transaction is %, but offsets are read after a lock: it must be read committed', current_setting('transaction_isolation') USING ERRCODE = 'HL001';
  END IF;
  IF current_setting('synchronous_commit') NOT IN ('on', 'remote_apply') THEN
    PERFORM set_config('synchronous_commit', 'on', true);
  END IF;
  -- in one order everywhere, so that two batches never wait for one another
  PERFORM 1 FROM $schema.partitions p WHERE p.id = ANY (append.partitions) ORDER BY p.id FOR NO KEY UPDATE;
  RETURN QUERY
    WITH ends AS MATERIALIZED (
      SELECT p.id, greatest(p.first_offset, coalesce((SELECT max(r."offset") + 1 FROM $schema.records r WHERE r.partition = p.id), 0)) AS next
      FROM $schema.partitions p WHERE p.id = ANY (append.partitions)
    ), lengths AS (
      SELECT g.*, row_number() OVER (PARTITION BY g.id ORDER BY g.place) - 1 AS nth,
        sum(greatest(g.k, 0) + g.h + g.v) OVER (ORDER BY g.place) - greatest(g.k, 0) - g.h - g.v + 1 AS start
      FROM unnest(append.partitions, append.times, append.key_bytes, append.header_bytes, append.value_bytes)
        WITH ORDINALITY AS g (id, ms, k, h, v, place)
    ), stored AS (
      INSERT INTO $schema.records (partition, "offset", at, key, headers, value)
      SELECT l.id, e.next + l.nth, timestamptz 'epoch' + l.ms * interval '1 millisecond',
        CASE WHEN l.k >= 0 THEN substring(append.bytes FROM l.start::integer FOR l.k) END,
        CASE WHEN l.h > 0 THEN substring(append.bytes FROM (l.start + greatest(l.k, 0))::integer FOR l.h) END,
        substring(append.bytes FROM (l.start + greatest(l.k, 0) + l.h)::integer FOR l.v)
      FROM lengths l JOIN ends e USING (id)
      RETURNING 1
    )
    SELECT e.id, e.next FROM ends e;
END
$do$;

CREATE FUNCTION $schema.create_topics(names text[], partitions integer)
RETURNS TABLE (topic text, id integer, number integer)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $do$
#variable_conflict use_column
BEGIN
  INSERT INTO $schema.topics (name)
    SELECT DISTINCT n FROM unnest(create_topics.names) n
    WHERE NOT EXISTS (SELECT FROM $schema.topics t WHERE t.name = n)
    ORDER BY n
    ON CONFLICT DO NOTHING;
  INSERT INTO $schema.partitions (topic, number)
    SELECT t.id, g FROM $schema.topics t CROSS JOIN generate_series(0, create_topics.partitions - 1) g
    WHERE t.name = ANY (create_topics.names)
      AND NOT EXISTS (SELECT FROM $schema.partitions p WHERE p.topic = t.id AND p.number = g)
    ORDER BY t.id, g
    ON CONFLICT DO NOTHING;
  RETURN QUERY
    SELECT t.name, p.id, p.number FROM $schema.partitions p JOIN $schema.topics t ON t.id = p.topic
    WHERE t.name = ANY (create_topics.names) ORDER BY t.name, p.number;
END
$do$;

CREATE FUNCTION $schema.advance(before_ms bigint, most integer) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $do$
DECLARE
  one record;
  next bigint;
  moved bigint := 0;
BEGIN
  FOR one IN SELECT p.id, p.first_offset FROM $schema.partitions p ORDER BY p.id LOOP
    SELECT coalesce(min(r."offset") FILTER (WHERE r.at >= timestamptz 'epoch' + before_ms * interval '1 millisecond'), max(r."offset") + 1)
      INTO next
      FROM (SELECT "offset", at FROM $schema.records WHERE partition = one.id AND "offset" >= one.first_offset ORDER BY "offset" LIMIT most) r;
    CONTINUE WHEN next IS NULL OR next <= one.first_offset;
    UPDATE $schema.partitions p SET first_offset = next WHERE p.id = one.id AND p.first_offset < next;
    moved := moved + next - one.first_offset;
  END LOOP;
  RETURN moved;
END
$do$;
COMMENT ON FUNCTION $schema.advance(bigint, integer) IS 'Retention, first: lets each partition begin after records that are older, up to a number of them';

CREATE FUNCTION $schema.sweep(most integer) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $do$
DECLARE
  one record;
  swept bigint := 0;
  deleted bigint;
BEGIN
  FOR one IN SELECT p.id, p.first_offset FROM $schema.partitions p WHERE p.first_offset > 0 ORDER BY p.id LOOP
    DELETE FROM $schema.records r USING (
      SELECT "offset" FROM $schema.records WHERE partition = one.id AND "offset" < one.first_offset ORDER BY "offset" LIMIT most - swept
    ) old WHERE r.partition = one.id AND r."offset" = old."offset";
    GET DIAGNOSTICS deleted = ROW_COUNT;
    swept := swept + deleted;
    EXIT WHEN swept >= most;
  END LOOP;
  RETURN swept;
END
$do$;
COMMENT ON FUNCTION $schema.sweep(integer) IS 'Retention, second, in a transaction of its own: deletes records before the beginning of their partitions';

CREATE FUNCTION $schema.header(headers bytea, name text) RETURNS bytea
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $do$
DECLARE
  place integer := 0;
  size integer;
  part bytea;
  is_name boolean := true;
  is_wanted boolean := false;
BEGIN
  WHILE place < length(headers) LOOP
    size := get_byte(headers, place) + (get_byte(headers, place + 1) << 8) + (get_byte(headers, place + 2) << 16) + (get_byte(headers, place + 3) << 24);
    part := substring(headers FROM place + 5 FOR size);
    IF is_wanted THEN
      RETURN part;
    END IF;
    is_wanted := is_name AND part = convert_to(header.name, 'UTF8');
    is_name := NOT is_name;
    place := place + 4 + size;
  END LOOP;
  RETURN NULL;
END
$do$;
COMMENT ON FUNCTION $schema.header(bytea, text) IS 'The value of a record''s first header of that name; NULL: it has none';

CREATE FUNCTION $schema.readable(bytes bytea) RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $do$
BEGIN
  RETURN convert_from(bytes, 'UTF8');
EXCEPTION WHEN character_not_in_repertoire OR untranslatable_character THEN
  RETURN encode(bytes, 'escape');
END
$do$;
COMMENT ON FUNCTION $schema.readable(bytea) IS 'Bytes as the text that they are in UTF-8, else escaped';

CREATE VIEW $schema.events AS
  SELECT t.name AS topic, p.number AS partition, r."offset", r.at, $schema.readable(r.key) AS key, $schema.readable(r.value) AS value, r.headers
  FROM $schema.records r JOIN $schema.partitions p ON p.id = r.partition JOIN $schema.topics t ON t.id = p.topic;
COMMENT ON VIEW $schema.events IS 'The log for people; the value of a JSON event is value::jsonb';

INSERT INTO $schema.log (id) VALUES ($id);

REVOKE ALL ON FUNCTION $schema.append, $schema.create_topics, $schema.advance, $schema.sweep FROM PUBLIC;
`

export const MIGRATIONS: readonly Migration[] = [{ version: 1, sql: FIRST }]

/** The version that this release writes and reads; it runs on the next one, too. */
export const SCHEMA_VERSION = 1

/** A name as SQL quotes it. */
export const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`
