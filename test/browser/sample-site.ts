import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { ConsumptionLimits, Feature } from '../../packages/server/src/core/nouns/feature.ts';
import { DAY_MS, type Instant, plus } from '../../packages/server/src/core/nouns/instant.ts';
import type { License } from '../../packages/server/src/core/nouns/license.ts';
import { seedFolder } from '../bench/seed-store.ts';
import { makeUpHistory } from '../support/made-up-history.ts';
import { startServerHere } from '../support/server-here.ts';
import { testLicense } from '../support/test-license.ts';

const NOTHING: ConsumptionLimits = {
  max: 0,
  unlimited: false,
  allowOverages: false,
  maxOverages: 0,
  allowNegative: false,
  period: null,
};

export function feature(id: number, code: string, name: string, slots: number | null, max = 0): Feature {
  const floating =
    slots === null ? null : { slots, timeoutMinutes: 10, canBorrow: true, maxBorrowHours: 168 };
  const consumption: ConsumptionLimits = max === 0 ? NOTHING : { ...NOTHING, max, period: 'monthly' };
  const type = max === 0 ? 'activation' : 'consumption';
  return { id, code, name, type, consumption, floating, expiresAt: null, metadata: {} };
}

export function license(
  id: number,
  product: string,
  name: string,
  slots: number,
  facts: Partial<License> = {},
): License {
  const { particulars } = testLicense(id);
  const productDetails = { ...particulars.productDetails, name };
  return testLicense(id, {
    product,
    slots,
    key: `KSTR-${product.toUpperCase().slice(0, 4)}-0000-${id}`,
    consumption: NOTHING,
    particulars: { ...particulars, productDetails },
    ...facts,
  });
}

/** A company's licenses on an ordinary day: one is full, one nearly, one ends soon, one runs out. */
function sampleLicenses(now: Instant): readonly License[] {
  const inDays = (days: number) => plus(now, days * DAY_MS);
  const drafting = feature(11, 'drafting', 'Drafting', 12);
  const photon = [
    feature(21, 'export-8k', '8K export', null, 500),
    feature(22, 'denoise', 'Denoiser', 4),
    feature(23, 'gpu', 'GPU rendering', 8),
    feature(24, 'batch', 'Batch queue', null),
  ];
  const monthly = {
    ...NOTHING,
    max: 100_000,
    allowOverages: true,
    maxOverages: 5000,
    period: 'monthly',
  } as const;
  const yearly = { ...NOTHING, max: 5_000_000, period: 'annually' } as const;
  return [
    license(101, 'cad-pro', 'CAD Pro', 24, { validUntil: inDays(135), features: [drafting] }),
    license(102, 'photon', 'Photon Render', 12, {
      consumption: monthly,
      features: photon,
      validUntil: inDays(44),
    }),
    license(103, 'pcb-studio', 'PCB Studio', 30, { validUntil: inDays(9) }),
    license(104, 'mesh-solver', 'Mesh Solver', 16, { validUntil: inDays(226) }),
    license(105, 'circuit-lab', 'Circuit Lab', 8),
    license(106, 'viewer', 'Drawing Viewer', 200, { validUntil: inDays(135) }),
    license(107, 'flow', 'Flow Solver', 6),
    license(108, 'text-api', 'Text Services', 4, { consumption: yearly, validUntil: inDays(45) }),
  ];
}

/** How many hold a slot of each, and how many of them have borrowed it. */
const HELD: Readonly<Record<string, readonly [held: number, lent: number]>> = {
  'cad-pro': [24, 5],
  photon: [7, 0],
  'pcb-studio': [18, 4],
  'mesh-solver': [15, 2],
  'circuit-lab': [3, 1],
  viewer: [63, 11],
};

const GIVEN =
  'tomasz sofie hannah matteo lena priya jonas omar chen ines david agnes yusuf clara viktor'.split(' ');
const FAMILY = 'wojcik devries okafor ricci brandt raman lindqvist haddad wei moreau kim nagy demir'.split(
  ' ',
);

function userName(index: number): string {
  const given = GIVEN[index % GIVEN.length];
  return `${given}.${FAMILY[(index * 7) % FAMILY.length]}${index < 13 ? '' : index}@kestrel.example`;
}

type Post = (path: string, body: object) => Promise<Response>;

const HISTORY_DAYS = 40;

/** Weeks of work before today, as the server would have recorded them. */
function addHistory(data: string, licenses: readonly License[], now: Instant): void {
  const db = new DatabaseSync(join(data, 'berth.db'));
  db.exec('BEGIN');
  for (const [index, { id, slots }] of licenses.entries()) {
    const wish = {
      licenseIds: [id],
      features: [],
      slots,
      users: slots * 2,
      days: HISTORY_DAYS,
      now,
      seed: index + 1,
    };
    for (const { table, rows } of makeUpHistory(wish)) {
      const columns = Object.keys(rows[0] ?? {});
      const places = columns.map(() => '?').join(', ');
      if (rows.length === 0) continue;
      const insert = db.prepare(`INSERT INTO ${table} (${columns.join(', ')}) VALUES (${places})`);
      for (const row of rows) insert.run(...columns.map((name) => row[name] as string | number | null));
    }
  }
  db.exec('COMMIT');
  db.close();
}

/** Starts a server with all that and these licenses, whose administrator has this password. */
export async function startSampleSite(data: string, password: string, more: readonly License[] = []) {
  rmSync(data, { recursive: true, force: true });
  const now = Date.now() as Instant;
  const licenses = [...sampleLicenses(now), ...more];
  await seedFolder(
    data,
    licenses.map((one) => ({ license: one, held: 0 })),
  );
  addHistory(data, licenses, now);
  const server = await startServerHere({ data });
  const post: Post = (path, body) =>
    fetch(`${server.url}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
  await takeSlots(post, now);
  await askInVain(post);
  await consume(post);
  const [, oneTime] = /one-time password {2}(\S+)/.exec(server.announced) ?? [];
  await post('/api/v4/setPassword', { passwordOld: oneTime, passwordNew: password });
  return server;
}

async function takeSlots(post: Post, now: Instant): Promise<void> {
  let count = 0;
  for (const [product, [held, lent]] of Object.entries(HELD)) {
    for (let index = 0; index < held; index++) {
      const user = userName(count);
      const host = {
        os_hostname: `${index < lent ? 'nb' : 'ws'}-${100 + count}`,
        ip_local: `10.20.4.${count % 250}`,
      };
      const until = new Date(plus(now, (1 + (index % 6)) * DAY_MS)).toISOString();
      const body = { product, user, ...host };
      if (index < lent) await post('/api/v4/borrow', { ...body, borrowed_until: until });
      else await post('/api/v4/register', body);
      const code = product === 'cad-pro' ? 'drafting' : ['gpu', 'denoise'][index % 2];
      if ((product === 'cad-pro' || product === 'photon') && index % 2 === 0) {
        await post('/api/v4/featureRegister', { product, user, feature: code });
      }
      count += 1;
    }
  }
}

async function askInVain(post: Post): Promise<void> {
  for (const user of ['aiko.tanaka', 'rafael.souza', 'femi.adeyemi', 'aiko.tanaka']) {
    const host = { os_hostname: `ws-${user.length}18` };
    await post('/api/v4/register', { product: 'cad-pro', user: `${user}@kestrel.example`, ...host });
  }
}

async function consume(post: Post): Promise<void> {
  await post('/api/v4/add_consumption', { product: 'photon', consumptions: 74_312 });
  await post('/api/v4/add_consumption', { product: 'text-api', consumptions: 3_020_000 });
  await post('/api/v4/add_feature_consumption', {
    product: 'photon',
    feature: 'export-8k',
    consumptions: 431,
  });
}
