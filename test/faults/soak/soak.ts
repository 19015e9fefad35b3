import { readdirSync, readFileSync, readlinkSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { exampleLimits } from '../../../packages/server/test/core/examples.ts';
import { createRandom } from '../../support/random.ts';
import { seedLicenses } from '../../support/server-process.ts';
import { MAX_CONNECTIONS, ServerUnderTest } from '../../support/server-under-test.ts';
import { testLicense } from '../../support/test-license.ts';
import type { Fault, Findings, Order, Size } from '../door/fault.ts';
import { LINUX } from '../door/needs.ts';
import { Office, PRODUCT, TIMEOUT_MINUTES } from './office.ts';

const USERS: Readonly<Record<Size, number>> = { small: 40, full: 2000 };
/** Now and then all are in use. */
const SLOTS_PER_USER = 0.7;

/** What the server takes at the end of a month. */
interface Footprint {
  readonly day: number;
  readonly memoryMb: number;
  /** Besides the connections, which the clients keep. */
  readonly descriptors: number;
  readonly connections: number;
  readonly logMb: number;
  readonly databaseMb: number;
}

const MB = 1024 ** 2;
const MONTH_DAYS = 30;

/** Caches and the heap have found their size by then. */
export const SETTLED_DAYS = 60;

/** What it may take at the end of the year. */
export const BOUNDS = {
  memoryMb: 400,
  /** More than after two months. */
  memoryGrowth: 1.25,
  descriptors: 64,
  /** As many as the clients open at most, and a few of its own. */
  connections: MAX_CONNECTIONS + 16,
  logMb: 64,
  bytesPerEvent: 700,
};

function measure({ pid, data }: ServerUnderTest, day: number): Footprint {
  const resident = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  const links = readdirSync(`/proc/${pid}/fd`).map((fd) => linkOf(`/proc/${pid}/fd/${fd}`));
  const connections = links.filter((link) => link.startsWith('socket:')).length;
  const bytesOf = (file: string) => statSync(join(data, file), { throwIfNoEntry: false })?.size ?? 0;
  return {
    day,
    memoryMb: Math.round(Number(resident) / 1024),
    descriptors: links.length - connections,
    connections,
    logMb: Math.round(bytesOf('berth.db-wal') / MB),
    databaseMb: Math.round(bytesOf('berth.db') / MB),
  };
}

/** One that was closed meanwhile leads nowhere. */
function linkOf(descriptor: string): string {
  try {
    return readlinkSync(descriptor);
  } catch {
    return '';
  }
}

async function liveThrough(order: Order): Promise<Findings> {
  const { count: days, seed, size, life, say } = order;
  const users = USERS[size];
  const server = ServerUnderTest.make(life, undefined, { args: ['--test-clock'] });
  const facts = {
    product: PRODUCT,
    source: 'demo',
    slots: Math.ceil(users * SLOTS_PER_USER),
    timeoutMinutes: TIMEOUT_MINUTES,
    consumption: exampleLimits({ unlimited: true }),
  } as const;
  await seedLicenses(server.data, [testLicense(1, facts)]);
  await server.start();
  const { api } = server;
  const office = new Office(api, createRandom(seed), users);
  const pass = async (minutes: number) => {
    const { status, text } = await api.post('/api/admin/test-clock/advance', { by: `${minutes}m` });
    if (status !== 200) throw new Error(`The time cannot be moved: ${text}`);
  };
  const footprints: Footprint[] = [];
  for (let day = 1; day <= days && office.violations.length === 0; day++) {
    const weekday = new Date((await api.clock()).server_at).getUTCDay();
    await office.live(weekday !== 0 && weekday !== 6, pass);
    if (day % MONTH_DAYS !== 0 && day !== days) continue;
    const footprint = measure(server, day);
    footprints.push(footprint);
    say(`${office.requests} requests, ${JSON.stringify(footprint)}`);
  }
  const violations = [...office.violations, ...(await inspect(server, office, footprints))];
  const last = footprints.at(-1);
  return {
    count: last?.day ?? 0,
    facts: {
      users,
      requests: office.requests,
      refused: office.refused,
      'memory in MB by month': footprints.map(({ memoryMb }) => memoryMb).join(' '),
      'file descriptors by month': footprints.map(({ descriptors }) => descriptors).join(' '),
      'connections by month': footprints.map(({ connections }) => connections).join(' '),
      'database in MB by month': footprints.map(({ databaseMb }) => databaseMb).join(' '),
      'longest log in MB': Math.max(...footprints.map(({ logMb }) => logMb)),
    },
    violations,
  };
}

async function inspect(
  server: ServerUnderTest,
  office: Office,
  footprints: readonly Footprint[],
): Promise<readonly string[]> {
  const violations: string[] = [];
  const { api } = server;
  const check = (isFine: boolean, what: string) => isFine || violations.push(what);
  for (const { day, descriptors, connections, logMb, memoryMb } of footprints) {
    check(descriptors <= BOUNDS.descriptors, `${descriptors} descriptors on day ${day}`);
    check(connections <= BOUNDS.connections, `${connections} connections on day ${day}`);
    check(logMb <= BOUNDS.logMb, `a log of ${logMb} MB on day ${day}`);
    check(memoryMb <= BOUNDS.memoryMb, `${memoryMb} MB of memory on day ${day}`);
  }
  const settled = footprints.find(({ day }) => day >= SETTLED_DAYS);
  const last = footprints.at(-1);
  if (settled !== undefined && last !== undefined) {
    const most = settled.memoryMb * BOUNDS.memoryGrowth;
    check(last.memoryMb <= most, `memory grew from ${settled.memoryMb} to ${last.memoryMb} MB`);
  }
  const { body } = await api.get(`/api/v4/license?product=${PRODUCT}`);
  check(
    body.total_consumptions === office.counted,
    `${body.total_consumptions} counted, not ${office.counted}`,
  );
  const { ok, events } = (await api.verifyAudit()) as { ok: boolean; events: number };
  check(ok, 'the audit log is broken');
  const bytes = ((last?.databaseMb ?? 0) * MB) / Math.max(1, events);
  check(events < 10_000 || bytes <= BOUNDS.bytesPerEvent, `${Math.round(bytes)} bytes for each event`);
  check((await server.stop()) === 0, 'the server did not end in good order');
  return violations;
}

export const soak: Fault = {
  name: 'soak',
  promises: [3, 5],
  promise:
    'In a simulated year of an office with 2,000 users, memory, files and descriptors stay within bounds.',
  unit: 'simulated days',
  sizes: { small: 1, full: 365 },
  needs: [LINUX],
  run: liveThrough,
};
