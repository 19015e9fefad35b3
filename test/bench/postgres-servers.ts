import { randomBytes } from 'node:crypto';
import connect from 'postgres';
import { startPostgres, type TestPostgres } from '../support/stores/postgres.ts';
import { countingLicense, ownProduct, PRODUCTS, seed } from './bench-licenses.ts';
import type { BenchRun } from './bench-run.ts';
import { shareCores } from './cores.ts';
import { listChildren } from './process-facts.ts';
import { seedDatabase } from './seed-store.ts';
import { type BenchServer, startBerthOn } from './servers.ts';

/** Servers on one database, and the process that all others of the database come from. */
export interface PostgresServers {
  readonly databasePid: number;
  /** As Berth is, twice. */
  readonly first: BenchServer;
  readonly second: BenchServer;
  readonly servers: readonly BenchServer[];
}

/** So many licenses that are used at the same time. */
export const MANY_LICENSES = 20;

const SEEDS = [
  seed(1, PRODUCTS.renew, 2000, 1000),
  seed(2, PRODUCTS.half1000, 1000, 500),
  seed(3, PRODUCTS.half100000, 100_000, 50_000),
  { license: countingLicense(10), held: 0 },
  ...Array.from({ length: MANY_LICENSES }, (_, index) => seed(100 + index, ownProduct(2 * index + 1), 10, 5)),
];

/** What PostgreSQL has unless told; the tests' own have less. */
const SETTINGS = { shared_buffers: '128MB' };

/** A database on the disk that syncs every commit, and servers on it; all of them end with the run. */
export async function startPostgresServers(bench: BenchRun): Promise<PostgresServers> {
  const postgres = await startPostgres({ durable: true, settings: SETTINGS });
  bench.keep({ stop: () => postgres.end() });
  const databasePid = postgres.pid as number;
  for (const pid of [databasePid, ...listChildren(databasePid)]) shareCores(pid, false);
  bench.facts.database = await describe(postgres);
  const place = { url: await postgres.createDatabase(), masterKey: randomBytes(32).toString('hex') };
  await seedDatabase(place.url, place.masterKey, SEEDS);
  const start = async () => bench.keep(await startBerthOn(place, bench.makeFolder()));
  const first = await start();
  const second = await start();
  return { databasePid, first, second, servers: [first, second] };
}

/** What decides how much a commit costs, as the database itself says it. */
async function describe(postgres: TestPostgres): Promise<string> {
  const sql = connect(postgres.url('postgres'), { max: 1, fetch_types: false, onnotice: () => {} });
  try {
    const show = async (name: string) => Object.values((await sql.unsafe(`SHOW ${name}`))[0] ?? {})[0];
    const [version, fsync, commit] = [
      await show('server_version'),
      await show('fsync'),
      await show('synchronous_commit'),
    ];
    const durability = `data on disk, fsync ${fsync}, synchronous_commit ${commit}`;
    return `PostgreSQL ${version} on the servers' cores, ${durability}`;
  } finally {
    await sql.end();
  }
}
