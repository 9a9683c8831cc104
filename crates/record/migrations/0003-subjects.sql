-- What is measured need not be storage, and what is done to it no pattern. Rows that are there already
-- stay as they were written: `schema` says how a study and its trials are to be read. So this changes
-- a page or two, however much is in the store.

ALTER TABLE studies RENAME COLUMN targets TO subjects;
ALTER TABLE studies ADD COLUMN measures TEXT NOT NULL DEFAULT '[]'; -- JSON
ALTER TABLE trials RENAME COLUMN target TO subject;
ALTER TABLE trials RENAME COLUMN pattern TO kind; -- of the job of the workload's first part

-- A device is a study now: no row is added to `devices` any more.
DROP VIEW records;
CREATE VIEW records AS
    SELECT id, started_unix_seconds, sequence, schema, origin, plan, subjects, measures, hosts, flags,
           ended
    FROM studies
    UNION ALL
    SELECT id, started_unix_seconds, sequence, schema, '', '', document, '', '', '', ''
    FROM devices;
