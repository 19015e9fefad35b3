import { copyFileSync, existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { addFooter } from '@berth/shell/files/backup-file';
import { type Instant, MINUTE_MS, plus } from '../../../packages/server/src/core/nouns/instant.ts';
import { licenseId } from '../../../packages/server/src/core/nouns/license.ts';
import { loadMasterKey } from '../../../packages/server/src/secrets/master-key.ts';
import { createManualClock } from '../../../packages/server/src/store/clock.ts';
import { openInThreadStore } from '../../../packages/server/src/store/sqlite/in-thread-store.ts';
import { copyDatabase } from '../../../packages/server/src/store/sqlite/move/copy-database.ts';
import { consume, NOW, register } from '../../../packages/server/test/core/examples.ts';
import { makeCertificate } from '../../support/certificate.ts';
import { temporaryFolder } from '../../support/server-process.ts';
import { SELDOM, writeRichHistory } from '../../support/stores/rich-history.ts';
import type { Life } from '../door/fault.ts';

/** The files of a server with a bit of everything. */
export interface DataImage {
  /** By name: of a server that was stopped, and of one that crashed. */
  readonly folders: Readonly<Record<'stopped' | 'crashed', string>>;
  /** Files that people write, and a backup. */
  readonly others: string;
  /** When it is opened again. */
  readonly at: Instant;
}

const RULES = `# Who gets slots.
deny:
  users: [eve, "mallory*"]
groups:
  design: { users: [ada, bob] }
products:
  cad:
    reserve:
      - { slots: 2, for: design }
`;

const SETTINGS = `# How this server is set up.
port: 8081
log:
  level: warn
auth:
  clients: required
`;

const FILES = ['berth.db', 'berth.db-wal', 'berth.db-shm', 'berth.db-sums', 'master.key'];

export async function makeImage(life: Life): Promise<DataImage> {
  const [first, crashed, stopped, others] = ['first', 'crashed', 'stopped', 'others'].map((name) => {
    const folder = join(temporaryFolder(life), name);
    mkdirSync(folder);
    return folder;
  }) as [string, string, string, string];
  const clock = createManualClock(NOW);
  const file = join(first, 'berth.db');
  const masterKey = loadMasterKey({ value: null, file: join(first, 'master.key'), mayCreate: true });
  const open = () => openInThreadStore({ file, masterKey, clock, onNotice: () => {} });
  const rich = open();
  await writeRichHistory(rich, clock);
  const db = new DatabaseSync(file);
  // The store alone moves its log.
  db.exec(`PRAGMA wal_autocheckpoint = 0; ${SELDOM}`);
  db.close();
  await rich.close();
  const later = open();
  for (const user of ['dan', 'eli', 'fay', 'dan']) {
    clock.advance(MINUTE_MS);
    await later.execute(register(user, { licenseId: licenseId(5) }));
    await later.execute(consume(1, { licenseId: licenseId(5) }));
  }
  copyFolder(first, crashed);
  const backup = join(others, 'backup');
  await copyDatabase(file, backup, () => {});
  const about = { program: 'server', made_by: '0', made_at: '', schema_version: 1, store: 'sqlite' } as const;
  addFooter(backup, { ...about, identity: '', key_fingerprint: '', sealed_keys: null }, masterKey, () => {});
  await later.close();
  copyFolder(first, stopped);
  writeOthers(others);
  return { folders: { stopped, crashed }, others, at: plus(clock.readWall(), MINUTE_MS) };
}

function writeOthers(folder: string): void {
  const { cert, key } = makeCertificate({
    names: ['berth.example.com'],
    notBefore: new Date('2026-01-01T00:00:00Z'),
    notAfter: new Date('2036-01-01T00:00:00Z'),
  });
  const files = { 'berth.yaml': SETTINGS, 'rules.yaml': RULES, 'tls.crt': cert, 'tls.key': key };
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
}

export function copyFolder(from: string, to: string): void {
  for (const name of FILES) {
    if (existsSync(join(from, name))) copyFileSync(join(from, name), join(to, name));
  }
}
