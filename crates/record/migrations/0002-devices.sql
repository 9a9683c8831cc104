-- Records of devices stand beside studies: a name of the one never means the other by chance, for
-- both are looked for in the view.

CREATE TABLE devices (
    sequence INTEGER PRIMARY KEY AUTOINCREMENT, -- order of beginning
    id TEXT NOT NULL UNIQUE,
    started_unix_seconds INTEGER NOT NULL,
    schema TEXT NOT NULL,
    host TEXT NOT NULL,    -- as the user named it
    document TEXT NOT NULL -- JSON
) STRICT;

CREATE VIEW records AS
    SELECT id, 'study' AS kind, started_unix_seconds, sequence FROM studies
    UNION ALL
    SELECT id, 'device' AS kind, started_unix_seconds, sequence FROM devices;
