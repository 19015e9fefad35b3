import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { copyFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, before, describe, test } from 'node:test';
import { MINUTE_MS } from '../../../../src/core/nouns/instant.ts';
import { licenseId } from '../../../../src/core/nouns/license.ts';
import type { MasterKey } from '../../../../src/secrets/seal.ts';
import { createManualClock, type ManualClock } from '../../../../src/store/clock.ts';
import type { VerifyingKeys } from '../../../../src/store/engine/audit/signature-check.ts';
import { openInThreadStore } from '../../../../src/store/sqlite/in-thread-store.ts';
import { verifySnapshot } from '../../../../src/store/sqlite/read/verify-audit.ts';
import { loadAuditKey, loadIdentityKey } from '../../../../src/store/sqlite/wire/sealed-secrets.ts';
import type { Store } from '../../../../src/store/store.ts';
import { borrow, exampleLicense, NOW, unregister } from '../../../core/examples.ts';
import { users } from '../../exam/exam-store.ts';

/**
 * A log of a thousand events, and every way to change it without a key, at every one of its links. Each must
 * be detected.
 */
const EVENTS = 1000;
/** What is done together is one link: enough of them, and a log that is verified quickly. */
const NAMES = ['ada', ...users(19)];
const LICENSES = [1, 2, 3, 4].map(licenseId);
const masterKey = randomBytes(32) as Uint8Array as MasterKey;

interface Link {
  readonly seq: number;
  readonly chain: number;
  readonly n: number;
}

let folder: string;
let file: string;
let db: DatabaseSync;
let keys: VerifyingKeys;
let links: readonly Link[];

function open(clock: ManualClock): Store {
  return openInThreadStore({ file, masterKey, clock, onNotice: () => {} });
}

/** Slots that are lent, borrowed and given back on all licenses, and the heads signed now and then. */
async function writeHistory(store: Store, clock: ManualClock): Promise<void> {
  for (const id of LICENSES) {
    const license = exampleLicense({ id, product: `product-${id}`, slots: 500 });
    await store.execute({ kind: 'install_license', license, by: 'admin' });
  }
  for (let round = 0; (await countEvents(store)) < EVENTS; round++) {
    clock.advance(MINUTE_MS);
    const names = NAMES.map((name) => `${name}-${round}`);
    const asked = LICENSES.flatMap((id) => names.map((user) => borrow(user, 'longest', { licenseId: id })));
    await Promise.all(asked.map((command) => store.execute(command)));
    await store.execute(unregister(`ada-${round}`, { licenseId: LICENSES[round % LICENSES.length] ?? null }));
    if (round % 3 === 0) await store.execute({ kind: 'record_event', event: STARTED });
    if (round % 10 === 0) await store.execute({ kind: 'sign_heads' });
  }
}

const STARTED = { kind: 'server_started', version: '1' } as const;

async function countEvents(store: Store): Promise<number> {
  return (await store.read({ kind: 'verify_audit' })).events;
}

before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'berth-tampering-'));
  file = join(folder, 'berth.db');
  const clock = createManualClock(NOW);
  const store = open(clock);
  await writeHistory(store, clock);
  await store.close();
  db = new DatabaseSync(file);
  keys = { audit: loadAuditKey(db, masterKey), identity: loadIdentityKey(db, masterKey) };
  links = listLinks();
});

after(() => {
  db.close();
  rmSync(folder, { recursive: true });
});

function listLinks(): readonly Link[] {
  return db.prepare('SELECT seq, chain, n FROM audit_link ORDER BY seq').all() as unknown as Link[];
}

/** Whether a change, which is undone again, is detected. */
function isFound(change: () => void): boolean {
  db.exec('BEGIN');
  try {
    change();
    return !verifySnapshot(db, keys).ok;
  } finally {
    db.exec('ROLLBACK');
  }
}

const statements = new Map<string, ReturnType<DatabaseSync['prepare']>>();

function run(sql: string, ...params: (number | string | Uint8Array)[]): void {
  const prepared = statements.get(sql) ?? db.prepare(sql);
  statements.set(sql, prepared);
  assert.ok(Number(prepared.run(...params).changes) > 0, `nothing was changed by ${sql}`);
}

/** Sets the head in a chain's row to a link of the chain, or to none. */
function setHead({ chain, n }: Pick<Link, 'chain' | 'n'>): void {
  const row = db.prepare('SELECT mac FROM audit_link WHERE chain = ? AND n = ?').get(chain, n);
  const mac = (row?.mac as Uint8Array | undefined) ?? new Uint8Array(0);
  if (chain === 0) run('UPDATE server SET audit_n = ?, audit_mac = ?', n, mac);
  else run('UPDATE license SET audit_n = ?, audit_mac = ? WHERE id = ?', n, mac, chain);
}

function headOf(chain: number): number {
  const sql = 'SELECT max(n) AS n FROM audit_link WHERE chain = ?';
  return db.prepare(sql).get(chain)?.n as number;
}

/** Makes room after a link: all later ones move up by one. */
function makeRoom({ chain, n }: Link): void {
  db.prepare('UPDATE audit_link SET n = -n - 1 WHERE chain = ? AND n > ?').run(chain, n);
  db.prepare('UPDATE audit_link SET n = -n WHERE chain = ? AND n < 0').run(chain);
}

const COPY = `INSERT INTO audit_link (chain, n, at, events, mac)
  SELECT chain, n + 1, at, events, mac FROM audit_link WHERE chain = ? AND n = ?`;
const FORGE = `INSERT INTO audit_link (chain, n, at, events, mac)
  SELECT chain, n + 1, at, '[{"kind":"slot_lent","user":"mallory","hostname":null}]', randomblob(32)
  FROM audit_link WHERE chain = ? AND n = ?`;

/** Inserts a link after another one, and moves the head to the end. */
function putIn(link: Link, sql: string): void {
  makeRoom(link);
  run(sql, link.chain, link.n);
  setHead({ chain: link.chain, n: headOf(link.chain) });
}

/** Swaps the content of two links of a chain, each with its MAC. */
function swap(link: Link, other: Link): void {
  const content = 'SELECT at, events, mac FROM audit_link WHERE seq = ?';
  const [one, two] = [link, other].map(({ seq }) => db.prepare(content).get(seq));
  for (const [target, row] of [
    [link, two],
    [other, one],
  ] as const) {
    const { at, events, mac } = row as { at: number; events: string; mac: Uint8Array };
    run('UPDATE audit_link SET at = ?, events = ?, mac = ? WHERE seq = ?', at, events, mac, target.seq);
  }
}

function cut({ chain, n }: Link): void {
  run('DELETE FROM audit_link WHERE chain = ? AND n >= ?', chain, n);
}

type Tampering = (link: Link) => void;

const EVERYWHERE: Readonly<Record<string, Tampering>> = {
  'an edited event': ({ seq }) =>
    run(`UPDATE audit_link SET events = replace(events, '"kind"', '"kinD"') WHERE seq = ?`, seq),
  'an edited time': ({ seq }) => run('UPDATE audit_link SET at = at + 1 WHERE seq = ?', seq),
  'another number': ({ seq }) => run('UPDATE audit_link SET n = n + 100000 WHERE seq = ?', seq),
  'an edited MAC': ({ seq }) => run('UPDATE audit_link SET mac = randomblob(32) WHERE seq = ?', seq),
  'another chain': ({ seq, chain }) => {
    const other = chain === 0 ? 1 : 0;
    run('UPDATE audit_link SET chain = ?, n = ? WHERE seq = ?', other, headOf(other) + 1, seq);
    setHead({ chain: other, n: headOf(other) });
  },
  'a deleted link': ({ seq }) => run('DELETE FROM audit_link WHERE seq = ?', seq),
  'an inserted copy': (link) => putIn(link, COPY),
  'an inserted forged link': (link) => putIn(link, FORGE),
  'a cut tail': cut,
  'a cut tail, with the head set back': (link) => {
    cut(link);
    setHead({ chain: link.chain, n: link.n - 1 });
  },
};

describe('a log of a thousand events', () => {
  test('is intact as it was written', () => {
    const verdict = verifySnapshot(db, keys);
    assert.deepEqual(verdict.problems, []);
    assert.ok(verdict.events >= EVENTS);
    assert.equal(verdict.chains, LICENSES.length + 1);
  });

  for (const [title, tamper] of Object.entries(EVERYWHERE)) {
    test(`shows ${title}, at every link`, () => {
      const missed = links.filter((link) => !isFound(() => tamper(link)));
      assert.deepEqual(missed, []);
    });
  }

  test('shows two neighbours that were swapped, at every link', () => {
    const pairs = links.flatMap((link) => {
      const next = links.find(({ chain, n }) => chain === link.chain && n === link.n + 1);
      return next === undefined ? [] : [[link, next] as const];
    });
    assert.equal(pairs.length, links.length - LICENSES.length - 1);
    assert.deepEqual(
      pairs.filter(([link, next]) => !isFound(() => swap(link, next))),
      [],
    );
  });

  test('shows a license that was removed with all of its links', () => {
    for (const id of LICENSES) {
      assert.ok(
        isFound(() => {
          run('DELETE FROM audit_link WHERE chain = ?', id);
          run('DELETE FROM license WHERE id = ?', id);
        }),
      );
    }
  });

  test('shows a license that was inserted', () => {
    const columns = 'id, product, facts, added_order, added_at, in_use, audit_n, audit_mac';
    const values = "99, product, facts, 99, added_at, 0, 0, x''";
    assert.ok(
      isFound(() => run(`INSERT INTO license (${columns}) SELECT ${values} FROM license WHERE id = 1`)),
    );
  });

  test('shows an anchor that was changed or is missing', () => {
    assert.ok(isFound(() => run('UPDATE server SET audit_anchor = randomblob(32)')));
    assert.ok(isFound(() => run("UPDATE server SET audit_anchor = x''")));
    assert.ok(isFound(() => run('UPDATE server SET audit_anchor = NULL')));
  });

  test('shows a link that was moved among those of other chains', () => {
    assert.ok(isFound(() => run('UPDATE audit_link SET seq = 1000000 WHERE chain = 1 AND n = 5')));
  });

  test('shows numbers that are too large to be read', () => {
    for (const column of ['seq', 'n', 'at']) {
      assert.ok(isFound(() => run(`UPDATE audit_link SET ${column} = 9223372036854775807 WHERE seq = 5`)));
    }
    assert.ok(isFound(() => run('UPDATE license SET audit_n = 9223372036854775807 WHERE id = 1')));
  });
});

interface Schema {
  /** Runs one statement in a newly opened database, which may write to the schema itself. */
  run(sql: string): void;
}

/** The log after somebody has written to a copy of the file: the verdict, and the list. */
async function lookAfter(tamper: (schema: Schema) => void) {
  const copy = join(folder, 'copy.db');
  copyFileSync(file, copy);
  tamper({
    run(sql) {
      const tampering = new DatabaseSync(copy, { defensive: false });
      tampering.exec(`PRAGMA writable_schema = ON; ${sql}`);
      tampering.close();
    },
  });
  const store = openInThreadStore({
    file: copy,
    masterKey,
    clock: createManualClock(NOW),
    onNotice: () => {},
    resumeAtOpen: false,
  });
  const verdict = await store.read({ kind: 'verify_audit' });
  const listed = await store.read({ kind: 'list_audit', chain: null, before: null, limit: 1e6 });
  const written = await store.read({ kind: 'list_links', after: 0, upTo: 1e9, limit: 1e6 });
  await store.close();
  return { verdict, listed, written };
}

/** Writes to the table of links while its index is missing, so that the index does not know of it. */
function behindIndex(schema: Schema, sql: string): void {
  const index = db.prepare("SELECT * FROM sqlite_master WHERE name = 'sqlite_autoindex_audit_link_1'").get();
  const unique = "',\n  UNIQUE (chain, n)'";
  schema.run(`DELETE FROM sqlite_master WHERE name = '${index?.name}';
    UPDATE sqlite_master SET sql = replace(sql, ${unique}, '') WHERE name = 'audit_link'`);
  schema.run(sql);
  schema.run(`UPDATE sqlite_master SET sql = replace(sql, '\n) STRICT', ${unique} || '\n) STRICT')
      WHERE name = 'audit_link';
    INSERT INTO sqlite_master (type, name, tbl_name, rootpage, sql)
      VALUES ('index', '${index?.name}', 'audit_link', ${index?.rootpage}, NULL)`);
}

/** Writes to the table of links while it accepts values of any type. */
function withoutTypes(schema: Schema, sql: string, { isPutBack }: { isPutBack: boolean }): void {
  const swap = (from: string, to: string) =>
    `UPDATE sqlite_master SET sql = replace(sql, '${from}', '${to}') WHERE name = 'audit_link'`;
  for (const column of ['chain INTEGER', 'n INTEGER', 'at INTEGER', 'events TEXT', 'mac BLOB']) {
    schema.run(swap(` ${column} NOT NULL`, ` ${column.split(' ')[0]} BLOB`));
  }
  schema.run(swap(') STRICT', ')'));
  schema.run(sql);
  if (!isPutBack) return;
  const original = db.prepare("SELECT sql FROM sqlite_master WHERE name = 'audit_link'").get()?.sql;
  schema.run(`UPDATE sqlite_master SET sql = '${original}' WHERE name = 'audit_link'`);
}

describe('changes below the schema', () => {
  const HIDDEN: Readonly<Record<string, string>> = {
    'a link that is not in the index': `INSERT INTO audit_link (chain, n, at, events, mac)
      SELECT chain, n, at, '[{"kind":"slot_lent","user":"mallory","hostname":null}]', mac
      FROM audit_link WHERE seq = 5`,
    'a link that differs in the index': 'UPDATE audit_link SET chain = 2 WHERE chain = 1 AND n = 5',
  };
  for (const [title, sql] of Object.entries(HIDDEN)) {
    test(`show ${title}`, async () => {
      const { verdict, listed } = await lookAfter((schema) => behindIndex(schema, sql));
      assert.equal(verdict.ok, false);
      assert.match(verdict.problems.at(-1)?.problem ?? '', /^The table of links is inconsistent: /);
      assert.ok(listed.length >= links.length);
    });
  }

  for (const isPutBack of [true, false]) {
    for (const value of [
      'events = CAST(events AS BLOB)',
      'events = NULL',
      'mac = NULL',
      'mac = hex(mac)',
      'mac = substr(hex(mac), 1, 32)',
      'at = CAST(at AS TEXT)',
      'n = CAST(n AS REAL)',
      'n = NULL',
      'chain = CAST(chain AS TEXT)',
      'chain = 9223372036854775807',
    ]) {
      test(`shows ${value}, and tells the others; types ${isPutBack ? '' : 'not '}put back`, async () => {
        const sql = `UPDATE audit_link SET ${value} WHERE seq = 5; REINDEX audit_link`;
        const { verdict, listed, written } = await lookAfter((schema) =>
          withoutTypes(schema, sql, { isPutBack }),
        );
        assert.equal(verdict.ok, false);
        assert.deepEqual([listed.length, written.length], [links.length, links.length]);
        const isUnreadable = value.startsWith('events');
        assert.equal(listed.find(({ seq }) => seq === 5)?.events[0]?.kind === 'unreadable', isUnreadable);
        for (const { events } of written) assert.ok(Array.isArray(JSON.parse(events)));
      });
    }
  }

  for (const events of [
    'x',
    '1',
    '[1]',
    '[null]',
    '[{}]',
    '{"kind":"slot_lent"}',
    '[\n{"kind":"slot_lent"}]',
  ]) {
    test(`are shown as unreadable: ${JSON.stringify(events)}`, async () => {
      const sql = `UPDATE audit_link SET events = '${events}' WHERE seq = 5`;
      const { verdict, listed, written } = await lookAfter((schema) => schema.run(sql));
      assert.equal(verdict.ok, false);
      const told = JSON.parse(written.find(({ seq }) => seq === 5)?.events ?? '');
      assert.deepEqual(told, [{ kind: 'unreadable', hex: Buffer.from(events).toString('hex') }]);
      assert.equal(listed.length, links.length);
    });
  }

  test('shows the newest link of a chain behind everything that is listed', async () => {
    for (const seq of ['9223372036854775807', '9007199254740991']) {
      const newest = 'SELECT max(seq) FROM audit_link WHERE chain = 1';
      assert.ok(isFound(() => run(`UPDATE audit_link SET seq = ${seq} WHERE seq = (${newest})`)));
    }
  });
});
