import { type BacklogRow, backlogFromRows, type UsageRow, usageFromRow } from '../../engine/rows.ts';
import type { RowOf } from '../../engine/tables.ts';
import type { BacklogRecord, UsageRecord } from '../../query.ts';
import type { Ask } from '../wire/ask.ts';

/** Once for each license: with a thousand features, its facts would otherwise be parsed a thousand times. */
const HELD = `held AS MATERIALIZED (SELECT id, product, removed_at,
    facts::json ->> 'key' AS license_key, facts::json ->> 'source' AS source FROM license)`;

const LIST_METERS = `WITH ${HELD}
  SELECT held.product, held.source, held.removed_at, meter.*
  FROM meter JOIN held ON held.id = meter.license_id
  WHERE removed_at IS NULL OR pending <> 0 OR EXISTS (SELECT 1 FROM report
    WHERE report.license_id = meter.license_id AND report.feature = meter.feature)
  ORDER BY license_id, feature`;

const LIST_REPORTS = 'SELECT * FROM report ORDER BY cut_at, id';

export async function listBacklog(ask: Ask): Promise<readonly BacklogRecord[]> {
  const [meters, reports] = await Promise.all([
    ask<BacklogRow>(LIST_METERS),
    ask<RowOf<'report'>>(LIST_REPORTS),
  ]);
  return backlogFromRows(meters, reports);
}

const LIST_USAGE = `WITH ${HELD}, part AS (
    SELECT id AS license_id, '' AS feature FROM license
    UNION SELECT license_id, feature FROM meter)
  SELECT part.*, held.product, held.license_key, held.removed_at,
    coalesce(pending, 0) + coalesce((SELECT sum(amount) FROM report
      WHERE report.license_id = part.license_id AND report.feature = part.feature), 0)::bigint AS consumed
  FROM part JOIN held ON held.id = part.license_id
  LEFT JOIN meter ON meter.license_id = part.license_id AND meter.feature = part.feature
  WHERE held.source IN ('offline', 'airgap') ORDER BY part.license_id, part.feature`;

/** Each license has a row of its own, whether or not anything was counted of it. */
export async function listUsage(ask: Ask): Promise<readonly UsageRecord[]> {
  return (await ask<UsageRow>(LIST_USAGE)).map(usageFromRow);
}
