-- SQLite and PostgreSQL both take this file: only TEXT, BIGINT, DOUBLE PRECISION and BYTEA are used.
-- SQLite knows no type BYTEA; it then stores bytes as bytes (its affinity is NUMERIC, which leaves them).
-- Truth is 0 or 1. Later changes are files of their own: this one never changes again.

-- The last number given out. Whoever writes runs takes their numbers here first, and holds the row until
-- the commit: so numbers become visible in their order.
CREATE TABLE counters (
    name TEXT PRIMARY KEY,
    value BIGINT NOT NULL
);
INSERT INTO counters (name, value) VALUES ('runs', 0), ('removals-forgotten', 0), ('live', 0);

CREATE TABLE runs (
    number BIGINT PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    test TEXT NOT NULL,
    started_at TEXT NOT NULL,
    stored_us BIGINT NOT NULL,
    expires_s BIGINT NOT NULL,
    experiment TEXT NOT NULL,
    mode TEXT NOT NULL,
    server TEXT NOT NULL,
    transport TEXT NOT NULL,
    policy TEXT NOT NULL,
    pattern TEXT NOT NULL,
    family TEXT NOT NULL,
    port BIGINT NOT NULL,
    status TEXT NOT NULL,
    invalid TEXT,
    -- Whether it is complete and not invalid.
    counts BIGINT NOT NULL,
    ended TEXT,
    networks TEXT NOT NULL,
    duration_us BIGINT NOT NULL,
    walkabout_version TEXT NOT NULL,
    platform TEXT NOT NULL,
    prefix TEXT NOT NULL,
    publish BIGINT NOT NULL,
    -- The metrics that are compared; a censored one is a lower bound.
    delay_max_s DOUBLE PRECISION,
    delay_max_censored BIGINT NOT NULL,
    delay_max_up_s DOUBLE PRECISION,
    delay_max_up_censored BIGINT NOT NULL,
    delay_max_down_s DOUBLE PRECISION,
    delay_max_down_censored BIGINT NOT NULL,
    handover_sent_s DOUBLE PRECISION,
    handover_sent_censored BIGINT NOT NULL,
    cellular_cause TEXT,
    -- All metrics, JSON.
    metrics TEXT NOT NULL,
    secret_sha256 BYTEA NOT NULL,
    content_sha256 BYTEA NOT NULL
);
CREATE INDEX runs_expires ON runs (expires_s);

-- The uploads, JSON compressed with zstd: apart, so that a scan of the runs does not read them.
CREATE TABLE documents (
    number BIGINT PRIMARY KEY REFERENCES runs (number) ON DELETE CASCADE,
    document BYTEA NOT NULL
);

-- Runs deleted by their uploader; they do not come back.
CREATE TABLE tombstones (
    id TEXT PRIMARY KEY
);

-- Which runs are gone, for collectors that have read them. Numbered together with the runs.
CREATE TABLE removals (
    sequence BIGINT PRIMARY KEY,
    number BIGINT NOT NULL
);

CREATE TABLE quotas (
    key TEXT NOT NULL,
    begins_s BIGINT NOT NULL,
    ends_s BIGINT NOT NULL,
    spent BIGINT NOT NULL,
    PRIMARY KEY (key, begins_s, ends_s)
);
CREATE INDEX quotas_ends ON quotas (ends_s);

CREATE TABLE live_tests (
    test TEXT PRIMARY KEY,
    experiment TEXT NOT NULL,
    server TEXT NOT NULL,
    since_s BIGINT NOT NULL,
    heard_s BIGINT NOT NULL,
    ended BIGINT NOT NULL,
    -- The names of its runs, JSON.
    runs TEXT NOT NULL
);
CREATE INDEX live_tests_heard ON live_tests (heard_s);

-- What was seen, in the batches it came in. The last item's number is the batch's.
CREATE TABLE live_batches (
    last BIGINT PRIMARY KEY,
    test TEXT NOT NULL,
    heard_s BIGINT NOT NULL,
    -- The items, JSON.
    items TEXT NOT NULL
);
CREATE INDEX live_batches_test ON live_batches (test, last);
CREATE INDEX live_batches_heard ON live_batches (heard_s);
