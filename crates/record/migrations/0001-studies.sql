-- Columns are what is searched and listed; the documents beside them are JSON as in the export
-- schema (docs/schema.md), so that a field can be added without touching old rows.

PRAGMA application_id = 0x506c696d; -- "Plim": tells this store from any other SQLite file

CREATE TABLE studies (
    sequence INTEGER PRIMARY KEY AUTOINCREMENT, -- order of beginning
    id TEXT NOT NULL UNIQUE,
    started_unix_seconds INTEGER NOT NULL,
    schema TEXT NOT NULL,
    origin TEXT NOT NULL,   -- JSON
    plan TEXT NOT NULL,     -- JSON
    subjects TEXT NOT NULL, -- JSON
    measures TEXT NOT NULL, -- JSON
    hosts TEXT NOT NULL,    -- JSON
    flags TEXT NOT NULL,    -- JSON
    ended TEXT NOT NULL     -- JSON
) STRICT;

CREATE TABLE trials (
    study TEXT NOT NULL REFERENCES studies (id),
    number INTEGER NOT NULL,  -- in the order run, from 0
    block INTEGER,            -- NULL: no blocks (imports)
    subject INTEGER NOT NULL, -- index in the plan
    kind TEXT NOT NULL,       -- of the job of the workload's first part
    outcome TEXT NOT NULL,    -- complete, stopped, failed
    document TEXT NOT NULL,   -- JSON
    PRIMARY KEY (study, number)
) STRICT;

-- Lists count trials by these alone, without the documents between them.
CREATE INDEX trials_counted ON trials (study, outcome, block);

-- What tables of many studies show: the figures that verdicts are about, and speeds, of each complete trial. Who the
-- subject is follows from the facts of the study.
CREATE TABLE figures (
    study TEXT NOT NULL REFERENCES studies (id),
    trial INTEGER NOT NULL,
    block INTEGER,              -- NULL: no blocks (imports)
    subject INTEGER NOT NULL,   -- index in the plan
    workload INTEGER NOT NULL,  -- index in the plan
    setting INTEGER NOT NULL,   -- number of the setting of all factors
    kind TEXT NOT NULL,         -- of the job of the workload's first part
    metric TEXT NOT NULL,
    value REAL NOT NULL,
    disturbed INTEGER NOT NULL, -- 1: others used a host during the trial
    PRIMARY KEY (study, trial, metric)
) STRICT, WITHOUT ROWID;
