import { join } from 'node:path';
import type { ConsumptionLimits, Feature } from '../../packages/server/src/core/nouns/feature.ts';
import { DAY_MS, type Instant, instant, plus } from '../../packages/server/src/core/nouns/instant.ts';
import type { License } from '../../packages/server/src/core/nouns/license.ts';
import { loadMasterKey } from '../../packages/server/src/secrets/master-key.ts';
import { hashPassword } from '../../packages/server/src/services/access/passwords.ts';
import { createManualClock } from '../../packages/server/src/store/clock.ts';
import { createDataFolder } from '../../packages/server/src/store/folder-access.ts';
import { openQuickly } from '../../packages/server/test/store/exam/sqlite-file.ts';
import { PASSWORD_COST } from '../support/administrator.ts';
import { startServerProcess } from '../support/server-process.ts';
import { testLicense } from '../support/test-license.ts';
import { type Person, SampleWeeks, type Team } from './sample-weeks.ts';

const NOTHING: ConsumptionLimits = {
  max: 0,
  unlimited: false,
  allowOverages: false,
  maxOverages: 0,
  allowNegative: false,
  period: null,
};

function feature(id: number, code: string, name: string, slots: number | null, max = 0): Feature {
  const floating =
    slots === null ? null : { slots, timeoutMinutes: 10, canBorrow: true, maxBorrowHours: 168 };
  const consumption: ConsumptionLimits = max === 0 ? NOTHING : { ...NOTHING, max, period: 'monthly' };
  const type = max === 0 ? 'activation' : 'consumption';
  return { id, code, name, type, consumption, floating, expiresAt: null, metadata: {} };
}

function license(
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

/** How many work with each, hold a slot now, and have borrowed it; what is consumed on a day. */
const TEAMS: Readonly<Record<string, readonly [staff: number, held: number, lent: number, Consumed?]>> = {
  'cad-pro': [31, 24, 5],
  photon: [10, 7, 0, { '': 5460, 'export-8k': 16 }],
  'pcb-studio': [24, 18, 4],
  'mesh-solver': [17, 15, 2],
  'circuit-lab': [5, 3, 1],
  viewer: [74, 63, 11],
  flow: [0, 0, 0],
  'text-api': [0, 0, 0, { '': 13_100 }],
};

type Consumed = NonNullable<Team['consumed']>;

const GIVEN =
  'tomasz sofie hannah matteo lena priya jonas omar chen ines david agnes yusuf clara viktor aiko'.split(' ');
const FAMILY =
  'wojcik devries okafor ricci brandt raman lindqvist haddad wei moreau kim nagy demir tanaka souza'.split(
    ' ',
  );

/** Everyone of the company is in the same order; a team begins somewhere in it. */
function listStaff(first: number, count: number): readonly Person[] {
  return Array.from({ length: count }, (_, index) => {
    const number = first + index;
    const name = `${GIVEN[number % GIVEN.length]}.${FAMILY[(number * 7) % FAMILY.length]}`;
    const address = `10.20.${4 + Math.floor(number / 250)}.${number % 250}`;
    return { user: `${name}@kestrel.example`, host: `ws-${100 + number}`, address };
  });
}

function listTeams(licenses: readonly License[]): readonly Team[] {
  let first = 0;
  return licenses.map((one) => {
    const [count, held, lent, consumed = {}] = TEAMS[one.product] as (typeof TEAMS)[string];
    first += 29;
    return { license: one, staff: listStaff(first, count), held, lent, consumed };
  });
}

/** Who gets slots of two of the products. */
export const SAMPLE_RULES = `groups:
  cad-team:    { hosts: ["ws-13*"] }
  design:      { hosts: ["ws-14*", "ws-15*"] }
  contractors: { users: ["omar.*", "chen.*"] }

times:
  office: { days: mon-fri, from: "08:00", to: "18:00", zone: Europe/Berlin }

products:
  cad-pro:
    reserve:
      - { slots: 4, for: cad-team, during: office }
    limit:
      - { slots: 3, for: contractors }     # together
      - { slots: 1, each: host }
    borrow:
      hours: 72
      keep: 6
  mesh-solver:
    reserve:
      - { slots: 2, for: contractors }
`;

const WEEKS = 4;

/** Fills a data folder with the weeks before now. */
async function writeWeeks(data: string, password: string, now: Instant): Promise<void> {
  createDataFolder(data);
  const clock = createManualClock(instant(Date.UTC(new Date(now).getUTCFullYear(), 0, 2)));
  const masterKey = loadMasterKey({ value: null, file: join(data, 'master.key'), mayCreate: true });
  const store = openQuickly({ file: join(data, 'berth.db'), masterKey, clock, onNotice: () => {} });
  const passwordHash = await hashPassword(password, PASSWORD_COST);
  await store.execute({
    kind: 'create_account',
    name: 'admin',
    role: 'admin',
    passwordHash,
    oneTime: false,
    by: 'server',
  });
  const weeks = new SampleWeeks(store, clock, now);
  const licenses = sampleLicenses(now);
  const install = async (list: readonly License[]) => {
    for (const one of list) await store.execute({ kind: 'install_license', license: one, by: 'admin' });
  };
  await install(licenses.filter(({ product }) => product === 'text-api'));
  await weeks.consumeSince(clock.readWall(), 'text-api', 13_100);
  await install(licenses);
  await weeks.play(listTeams(licenses), WEEKS);
  await store.close();
}

/** Starts a server with all that, whose clock says `now`, and whose administrator has this password. */
export async function startSampleSite(data: string, password: string, now: Instant) {
  await writeWeeks(data, password, now);
  const shift = `const real = Date.now; Date.now = () => real() + ${now - Date.now()};`;
  const env = { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(shift)}` };
  return startServerProcess({ data, env, args: ['--log-level', 'error'] });
}
