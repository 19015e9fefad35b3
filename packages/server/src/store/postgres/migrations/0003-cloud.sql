-- A license that the server gave up keeps its row: its slots, totals and records go on when it is added again.
ALTER TABLE license ADD COLUMN removed_at BIGINT;

-- The total at the vendor's cloud when nothing was on its way there, and when that was.
ALTER TABLE meter ADD COLUMN cloud_total BIGINT;
ALTER TABLE meter ADD COLUMN cloud_at BIGINT;

-- When it turned out that nobody can tell whether the vendor has counted it.
ALTER TABLE report ADD COLUMN uncertain_at BIGINT;
CREATE INDEX report_by_license ON report (license_id);

-- The hardware id that the server had when it last started.
ALTER TABLE server ADD COLUMN hardware_id TEXT COLLATE "C";
