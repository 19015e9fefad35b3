import { DOWNTIME_MS } from '../../../core/clock/clock.ts';
import type { Instant } from '../../../core/nouns/instant.ts';
import { queryStore } from '../../engine/queries.ts';
import type { EngineDescription, StoreDescription } from '../../query.ts';
import { type Ask, answerQuery } from '../wire/ask.ts';

const READ_VERSIONS = `SELECT max(version) AS schema,
  split_part(current_setting('server_version'), ' ', 1) AS engine FROM berth_schema`;

export async function describeStore(ask: Ask, now: Instant): Promise<Omit<StoreDescription, 'host'>> {
  const [described, [versions]] = await Promise.all([
    answerQuery(ask, queryStore(now)),
    ask<{ readonly schema: number; readonly engine: string }>(READ_VERSIONS),
  ]);
  return {
    kind: 'postgres',
    engine: `PostgreSQL ${versions?.engine}`,
    schemaVersion: versions?.schema ?? 0,
    ...described,
  };
}

const TOLD_SETTINGS = ['synchronous_commit', 'synchronous_standby_names', 'max_connections'];

/** An engine that is compatible with PostgreSQL may lack a setting. */
const READ_ENGINE = `SELECT inet_server_port() AS port, ${TOLD_SETTINGS.map(
  (name) => `current_setting('${name}', true) AS ${name}`,
).join(', ')}`;

const LIST_SERVERS = `SELECT hostname, version FROM server_instance
  WHERE abs(seen_at - $1::bigint) < $2::bigint ORDER BY hostname, id`;

type EngineRow = { readonly port: number | null } & Readonly<Record<string, string | null>>;

export async function describeEngine(ask: Ask, now: Instant): Promise<EngineDescription> {
  const [[engine], servers] = await Promise.all([
    ask<EngineRow>(READ_ENGINE),
    ask<EngineDescription['servers'][number]>(LIST_SERVERS, [now, DOWNTIME_MS]),
  ]);
  const settings = TOLD_SETTINGS.map((name) => [name, engine?.[name] ?? null] as const);
  return { settings: Object.fromEntries(settings), port: engine?.port ?? null, servers };
}
