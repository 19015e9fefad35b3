import type { Facts } from '../support/berth-api.ts';
import type { Site } from './site.ts';

/** What administrators see of the data, by the path that shows it. */
const PATHS = [
  '/api/admin/licenses',
  '/api/admin/registrations',
  '/api/admin/users',
  '/api/admin/tokens',
  '/api/admin/rules',
  '/api/admin/rules/history',
  '/api/admin/rules/revision?revision=1',
  '/api/admin/bars',
  '/api/admin/identity',
  '/api/admin/keys',
  '/api/admin/reports',
  '/api/admin/audit/verify',
  '/api/v4/licenses?product=cad',
  '/api/v4/license?product=meter',
] as const;

/** Of a time that has passed. */
const HISTORY = ['slots', 'denials', 'users', 'consumption', 'waits'] as const;

/** Until when a release was asked about its data. */
export interface Asked {
  readonly since: string;
  readonly until: string;
  /** The event after the last one. */
  readonly before: number;
}

/** What a server says of its data. Whatever comes after `asked` is left out where it can be. */
export async function readFacts(site: Site, { since, until, before }: Asked): Promise<Facts> {
  const facts: Record<string, unknown> = {};
  for (const path of PATHS) facts[path] = await site.get(path);
  for (const subject of HISTORY) {
    const path = `/api/admin/history/${subject}`;
    facts[path] = await site.get(`${path}?since=${since}&until=${until}`);
  }
  facts.events = await site.get(`/api/admin/audit?before=${before}`);
  facts.channels = (await site.get('/api/admin/channels')).channels;
  facts.settings = await readSettings(site);
  for (const name of ['settings', '/api/admin/keys']) facts[name] = hideFolder(facts[name], site.folder);
  return facts;
}

/** Each copy of the data is somewhere else. */
function hideFolder(facts: unknown, folder: string): unknown {
  return JSON.parse(JSON.stringify(facts).replaceAll(folder, 'SITE'));
}

/**
 * By name, and only those of `berth.yaml` and of administrators: a release may have others, and describe them
 * better, and a test has its own by flags and the environment.
 */
async function readSettings(site: Site): Promise<Facts> {
  const { settings } = (await site.get('/api/admin/settings')) as { settings: readonly Facts[] };
  const set = settings.filter(({ source }) => source === 'file' || source === 'stored');
  return Object.fromEntries(
    set.map(({ name, value, source, changed_by, changed_at }) => {
      return [name, { value, source, changed_by, changed_at }];
    }),
  );
}
