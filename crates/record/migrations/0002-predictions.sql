-- Predictions that were shown, to be compared with studies after the change. The first prediction of a change counts:
-- a later one would know more.
CREATE TABLE predictions (
    sequence INTEGER PRIMARY KEY AUTOINCREMENT, -- order of making
    study TEXT NOT NULL REFERENCES studies (id),
    changes TEXT NOT NULL,              -- JSON
    made_unix_seconds INTEGER NOT NULL,
    document TEXT NOT NULL,             -- JSON: the predicted rows
    measured TEXT,                      -- study after the changes, if the user named it
    UNIQUE (study, changes)
) STRICT;
