import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { ConsumptionLimits, Feature } from '../../packages/server/src/core/nouns/feature.ts';
import { DAY_MS, type Instant, plus } from '../../packages/server/src/core/nouns/instant.ts';
import type { License } from '../../packages/server/src/core/nouns/license.ts';
import { seedFolder } from '../bench/seed-store.ts';
import { makeUpHistory } from '../support/made-up-history.ts';
import { startServerHere } from '../support/server-here.ts';
import { testLicense } from '../support/test-license.ts';
import { createApi } from './admin-site.ts';

/** Names of many words, names that have no place to break, and letters that take the most room. */
export const LONG = {
  license: 'Computational Fluid Dynamics and Structural Analysis, Enterprise Edition with Support',
  product: 'computational-fluid-dynamics-enterprise-2027',
  feature: 'finite-element-analysis-of-nonlinear-materials-2027',
  user: 'maximiliane-alexandra.von-hohenzollern-sigmaringen@engineering.subsidiary.kestrel.example',
  host: 'WWWWWWWW-MMMMMMMM-workstation-0000000000000001.engineering.subsidiary.kestrel.example',
  account: 'administrator-of-the-night-shift-in-building-seventeen',
};

const GROUP = 'engineers-for-nonlinear-materials-in-building-seventeen';

const RULES = `groups:
  team: { users: ["user.1*"] }
  ${GROUP}: { users: ["${LONG.user}"], hosts: ["${LONG.host}"] }
products:
  photon:
    reserve: [{ slots: 4, for: team }, { slots: 3, for: ${GROUP} }]
    limit: [{ slots: 1, each: host }]
  viewer: { reserve: [{ slots: 400, for: team }] }
  ${LONG.product}:
    allow: [team, ${GROUP}]
    limit: [{ slots: 2, for: ${GROUP} }]
    features: { ${LONG.feature}: { reserve: [{ slots: 1, for: ${GROUP} }] } }
`;

/** The licenses with ordinary and with long names. */
export const [ORDINARY, EXTREME] = [101, 201];

const MONTHLY: ConsumptionLimits = {
  max: 100_000,
  unlimited: false,
  allowOverages: true,
  maxOverages: 5000,
  allowNegative: false,
  period: 'monthly',
};

function named(id: number, product: string, name: string, slots: number, facts: Partial<License>): License {
  const { particulars } = testLicense(id);
  const productDetails = { ...particulars.productDetails, name };
  return testLicense(id, { product, slots, particulars: { ...particulars, productDetails }, ...facts });
}

function feature(id: number, code: string, name: string): Feature {
  const floating = { slots: 3, timeoutMinutes: 10, canBorrow: true, maxBorrowHours: 168 };
  return {
    id,
    code,
    name,
    type: 'activation',
    consumption: MONTHLY,
    floating,
    expiresAt: null,
    metadata: {},
  };
}

/** Full, nearly full, ending soon, running out; small and large numbers of slots. */
function listLicenses(now: Instant): readonly License[] {
  const soon = { validUntil: plus(now, 9 * DAY_MS) };
  return [
    named(ORDINARY, 'photon', 'Photon Render', 12, {
      consumption: MONTHLY,
      features: [feature(11, 'gpu', 'GPU rendering')],
    }),
    named(EXTREME, LONG.product, LONG.license, 2, { features: [feature(21, LONG.feature, LONG.license)] }),
    named(301, 'viewer', 'Drawing Viewer', 2000, soon),
    ...[401, 402, 403, 404].map((id) => named(id, `tool-${id}`, `Tool ${id}`, 40, {})),
  ];
}

/** Weeks before today, as the server would have recorded them. */
function addHistory(data: string, licenses: readonly License[], now: Instant): void {
  const db = new DatabaseSync(join(data, 'berth.db'));
  db.exec('BEGIN');
  for (const { id, slots } of licenses.slice(0, 2)) {
    const wish = { licenseIds: [id], features: [], slots, users: 40, days: 31, now, seed: id };
    for (const { table, rows } of makeUpHistory(wish)) {
      const columns = Object.keys(rows[0] ?? {});
      if (columns.length === 0) continue;
      const places = columns.map(() => '?').join(', ');
      const insert = db.prepare(`INSERT INTO ${table} (${columns.join(', ')}) VALUES (${places})`);
      for (const row of rows) insert.run(...columns.map((column) => row[column] as string | number | null));
    }
  }
  db.exec('COMMIT');
  db.close();
}

/** A server with all that, whose administrator has this password. */
export async function startCrowdedSite(data: string, password: string) {
  const now = Date.now() as Instant;
  const licenses = listLicenses(now);
  await seedFolder(
    data,
    licenses.map((license) => ({ license, held: license.id === 301 ? 120 : 0 })),
  );
  addHistory(data, licenses, now);
  const server = await startServerHere({ data });
  const api = createApi(server.url);
  const [, passwordOld] = /one-time password {2}(\S+)/.exec(server.announced) ?? [];
  const first = await api.signIn('admin', passwordOld as string);
  await api.post('/api/v4/setPassword', { passwordOld, passwordNew: password }, first);
  const token = await api.signIn('admin', password);
  const post = (path: string, body: object) => api.post(path, body, token);
  for (const user of [LONG.user, `second-${LONG.user}`, `third-${LONG.user}`]) {
    await api.register(LONG.product, user, LONG.host);
    for (let program = 0; program < 11; program++)
      await api.register(LONG.product, user, LONG.host, `program-${program}`);
  }
  for (let index = 0; index < 11; index++) await api.register('photon', `user.${index}@kestrel.example`);
  await post('/api/v4/featureRegister', { product: LONG.product, user: LONG.user, feature: LONG.feature });
  await post('/api/v4/add_consumption', { product: 'photon', consumptions: 74_312 });
  await post('/api/admin/users/add', { name: LONG.account, role: 'operator' });
  await post('/api/admin/tokens/create', { name: LONG.account, role: 'user' });
  await post('/api/admin/rules/apply', { text: RULES });
  await post('/api/admin/bars', { kind: 'user', pattern: `*${LONG.user}` });
  return server;
}
