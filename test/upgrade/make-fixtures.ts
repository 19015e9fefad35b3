import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { brotliCompressSync } from 'node:zlib';
import { DAY_MS, makeFakedClock } from '../support/faked-clock.ts';
import { findPostgres } from '../support/stores/postgres.ts';
import { useDatabase } from '../support/stores/test-stores.ts';
import { readFacts } from './facts.ts';
import { buildRelease } from './make/check-out.ts';
import { begin, finish, goOn } from './make/furnish.ts';
import { Vendor } from './make/vendor.ts';
import { packFolder } from './packed-folder.ts';
import { type Kind, RECEIVERS, Release } from './release.ts';
import { Site } from './site.ts';

/**
 * `npm run fixtures -- COMMIT`: what a released commit leaves behind, in the folder of its version. It runs
 * the programs of that commit, and everything is made by their commands and over HTTP.
 * BERTH_TEST_DATABASE_URL names a PostgreSQL whose `pg_dump` is in the path.
 */
const [commit] = process.argv.slice(2);
if (commit === undefined) throw new Error('Name the commit of the release.');

const ends: (() => unknown)[] = [];
const life = { after: (work: () => unknown) => ends.unshift(work) };
const scratch = mkdtempSync(join(tmpdir(), 'kestrel-'));
life.after(() => rmSync(scratch, { recursive: true, force: true }));
const VENDOR = 'http://127.82.1.3:31723';
const PASSPHRASE = 'the stable stood open';
const SINCE = new Date(Date.now() - 60 * DAY_MS).toISOString();

const answers: Partial<Record<Kind, object>> = {};

try {
  const built = buildRelease(commit, scratch, (version) => new Release(version).path('.'));
  const release = new Release(built.version);
  const program = release.unpackProgram(life);
  const clock = await makeFakedClock(life);
  if (clock === null) throw new Error('libfaketime is missing: the history would begin today.');
  const { env } = clock;
  const vendor = new Vendor(program, { data: join(scratch, 'vendor'), url: VENDOR, env });
  const site = Object.assign(new Site(life, join(scratch, 'site')), { program, env });
  clock.set(-40 * DAY_MS);
  await vendor.begin();
  life.after(() => vendor.end());
  await vendor.serve();
  const known = await begin(site, vendor);
  await vendor.end();
  clock.set(-20 * DAY_MS);
  await vendor.serve();
  await goOn(site);
  await vendor.end();
  clock.set(0);

  const shared = await moveToPostgres(site);
  const sharedVendor = vendor.copyTo(join(scratch, 'shared-vendor'));
  life.after(() => sharedVendor.end());
  const keep = async (kind: Kind, of: Site) => {
    const [last] = (await of.get('/api/admin/audit')).events as readonly { seq: number }[];
    const asked = { since: SINCE, until: new Date().toISOString(), before: (last?.seq ?? 0) + 1 };
    answers[kind] = { asked, facts: await readFacts(of, asked) };
  };

  await vendor.serve();
  known.webhookSecret = await finish(site, RECEIVERS.stopped);
  // Without a vendor, nothing changes by itself any more.
  await vendor.end();
  known.passphrase = PASSPHRASE;
  writeFileSync(join(scratch, 'passphrase'), `${PASSPHRASE}\n`, { mode: 0o600 });
  const backups = join(scratch, 'backups');
  mkdirSync(backups);
  await site.run(['backup', join(backups, 'plain')]);
  await site.run(['backup', join(backups, 'with-key'), '--passphrase-file', join(scratch, 'passphrase')]);
  pack(release, 'backups', backups);
  await keep('stopped', site);
  await site.stop();
  pack(release, 'stopped', site.folder);
  pack(release, 'vendor', vendor.data);
  for (const name of ['berth.yaml', 'vendor.pem', 'data/master.key']) {
    mkdirSync(join(scratch, 'settings', 'data'), { recursive: true });
    cpSync(join(site.folder, name), join(scratch, 'settings', name));
  }
  pack(release, 'settings', join(scratch, 'settings'));

  await site.start();
  await site.post('register', { product: 'meter', user: 'new-kim' });
  await keep('killed', site);
  await site.stop('SIGKILL');
  pack(release, 'killed', site.folder);

  await sharedVendor.serve();
  await finish(shared.site, RECEIVERS.postgres);
  await sharedVendor.end();
  await keep('postgres', shared.site);
  await shared.site.stop();
  dump(release, shared.url);

  const taken = { commit: built.commit, known, answers };
  writeFileSync(release.path('taken.json.br'), brotliCompressSync(JSON.stringify(taken)));
} finally {
  for (const end of ends) await end();
}

function pack(release: Release, name: string, folder: string): void {
  writeFileSync(release.path(`${name}.json.br`), packFolder(folder));
}

/** The same data in a database, by the command of the release. */
async function moveToPostgres(site: Site) {
  const moved = Object.assign(new Site(life, join(scratch, 'shared')), { program: site.program });
  cpSync(site.folder, moved.folder, { recursive: true });
  moved.token = site.token;
  const postgres = await findPostgres(life);
  const url = await postgres.createDatabase();
  useDatabase(moved.data, url);
  await moved.run(['migrate-store', 'to-postgres']);
  return { site: moved, url };
}

/** Rows as statements, so that no other program is needed to load them. */
function dump(release: Release, url: string): void {
  const words = ['--inserts', '--rows-per-insert=100', '--no-owner', '--no-privileges', url];
  const text = execFileSync('pg_dump', words, { encoding: 'utf8' });
  writeFileSync(release.path('postgres.sql.br'), brotliCompressSync(text));
}
