import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, before } from 'node:test';
import { MINUTE_MS, plus } from '../../../packages/server/src/core/nouns/instant.ts';
import { licenseId } from '../../../packages/server/src/core/nouns/license.ts';
import type { MasterKey } from '../../../packages/server/src/secrets/seal.ts';
import { createManualClock, type ManualClock } from '../../../packages/server/src/store/clock.ts';
import { headDigest, linkMac } from '../../../packages/server/src/store/engine/audit/audit-chain.ts';
import type { VerifyingKeys } from '../../../packages/server/src/store/engine/audit/signature-check.ts';
import { verifyAudit } from '../../../packages/server/src/store/postgres/read/verify-audit.ts';
import { type Ask, askOver } from '../../../packages/server/src/store/postgres/wire/ask.ts';
import type { Connection } from '../../../packages/server/src/store/postgres/wire/connection.ts';
import { parseDatabaseUrl } from '../../../packages/server/src/store/postgres/wire/database-url.ts';
import type { Parameter } from '../../../packages/server/src/store/postgres/wire/encode-parameter.ts';
import { Pool } from '../../../packages/server/src/store/postgres/wire/pool.ts';
import type { AuditVerdict } from '../../../packages/server/src/store/query.ts';
import { openInThreadStore } from '../../../packages/server/src/store/sqlite/in-thread-store.ts';
import {
  loadAuditKey,
  loadIdentityKey,
} from '../../../packages/server/src/store/sqlite/wire/sealed-secrets.ts';
import type { Store } from '../../../packages/server/src/store/store.ts';
import { borrow, exampleLicense, NOW, unregister } from '../../../packages/server/test/core/examples.ts';
import { copyToPostgres } from './copied-store.ts';
import { hasPostgres, sharedPostgres } from './postgres.ts';

export const LICENSES = [1, 2, 3].map(licenseId);
const THINNED = 2;
const NEVER = new AbortController().signal;

export interface Link {
  readonly chain: number;
  readonly n: number;
  readonly seq: number;
}

type Change = () => Promise<unknown>;

/** An audit log in PostgreSQL that tests tamper with. Shared by all tests of a file. */
export function openTamperedLog(): TamperedLog {
  const shared = sharedPostgres();
  const log = new TamperedLog();
  before(async () => {
    if (hasPostgres) await log.open(await (await shared()).createDatabase());
  });
  after(() => log.close());
  return log;
}

class TamperedLog {
  keys!: VerifyingKeys;
  /** Sorted by sequence number. */
  links: readonly Link[] = [];
  ask!: Ask;
  #pool!: Pool;
  #connection!: Connection;

  async open(url: string): Promise<void> {
    this.#pool = new Pool({
      target: parseDatabaseUrl(url),
      max: 1,
      prepareStatements: true,
      acquireTimeoutMs: 10_000,
      connectTimeoutMs: 10_000,
      answerTimeoutMs: 30_000,
    });
    this.#connection = await this.#pool.acquire();
    this.ask = askOver(this.#connection);
    this.keys = await fill(url);
    const rows = await this.ask('SELECT chain, n, seq FROM audit_link ORDER BY seq');
    this.links = rows as unknown as Link[];
  }

  async close(): Promise<void> {
    if (this.#pool === undefined) return;
    this.#pool.release(this.#connection);
    await this.#pool.close();
  }

  verify(): Promise<AuditVerdict> {
    return verifyAudit(this.ask, this.keys, NEVER);
  }

  /** Makes a change, calls `look`, and rolls the change back. */
  async lookAfter<T>(change: Change, look: () => Promise<T>): Promise<T> {
    await this.#connection.query('BEGIN');
    try {
      await change();
      return await look();
    } finally {
      await this.#connection.query('ROLLBACK');
    }
  }

  verifyAfter(change: Change): Promise<AuditVerdict> {
    return this.lookAfter(change, () => this.verify());
  }

  /** Fails if the statement changes nothing, because the test would prove nothing. */
  async run(text: string, ...parameters: Parameter[]): Promise<void> {
    const { count } = await this.#connection.query(text, parameters);
    const isChange = /^\s*(UPDATE|INSERT|DELETE)/.test(text);
    assert.ok(!isChange || count > 0, `nothing was changed by ${text}`);
  }

  /** Sets the stored head of a chain to one of its links, or to none. The anchor stays. */
  async setHead(chain: number, n: number): Promise<void> {
    const [row] = await this.ask('SELECT mac FROM audit_link WHERE chain = $1 AND n = $2', [chain, n]);
    const mac = (row?.mac as Uint8Array | undefined) ?? new Uint8Array(0);
    if (chain === 0) await this.run('UPDATE server SET audit_n = $1, audit_mac = $2', n, mac);
    else await this.run('UPDATE license SET audit_n = $1, audit_mac = $2 WHERE id = $3', n, mac, chain);
  }

  async dropAnchor(chain: number): Promise<void> {
    if (chain === 0) await this.run('UPDATE server SET audit_anchor = NULL');
    else await this.run('UPDATE license SET audit_anchor = NULL WHERE id = $1', chain);
  }

  async headOf(chain: number): Promise<number> {
    const [row] = await this.ask('SELECT max(n) AS n FROM audit_link WHERE chain = $1', [chain]);
    return row?.n as number;
  }

  /** Appends links to the chain of the first license, like an attacker who knows the key. */
  async continueChain(count: number, eventsOf: (n: number) => string): Promise<void> {
    const [head] = await this.ask('SELECT audit_n, audit_mac FROM license WHERE id = 1');
    let [n, mac] = [head?.audit_n as number, head?.audit_mac as Uint8Array];
    const added: unknown[] = [];
    for (let left = count; left > 0; left--) {
      const link = { chain: 1, n: ++n, at: NOW, events: eventsOf(n) };
      mac = linkMac(this.keys.audit, mac, link);
      added.push({ ...link, mac: Buffer.from(mac).toString('hex') });
    }
    await this.run(
      `INSERT INTO audit_link (chain, n, at, events, mac)
       SELECT chain, n, at, events, decode(mac, 'hex') FROM json_to_recordset($1::text::json)
         AS added (chain bigint, n bigint, at bigint, events text, mac text)`,
      JSON.stringify(added),
    );
    const anchor = headDigest(this.keys.audit, 1, { n, mac });
    const sql = 'UPDATE license SET audit_n = $1, audit_mac = $2, audit_anchor = $3 WHERE id = 1';
    await this.run(sql, n, mac, anchor);
  }
}

/** Writes a history to a new SQLite store and copies it to the database. */
async function fill(url: string): Promise<VerifyingKeys> {
  const folder = mkdtempSync(join(tmpdir(), 'berth-tampered-'));
  try {
    const file = join(folder, 'berth.db');
    const masterKey = randomBytes(32) as Uint8Array as MasterKey;
    const clock = createManualClock(NOW);
    const store = openInThreadStore({ file, masterKey, clock, onNotice: () => {} });
    await writeHistory(store, clock);
    await store.close();
    await copyToPostgres(folder, url, masterKey);
    const db = new DatabaseSync(file);
    const keys = { audit: loadAuditKey(db, masterKey), identity: loadIdentityKey(db, masterKey) };
    db.close();
    return keys;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Lends and returns slots, signs heads and thins out a chain. */
async function writeHistory(store: Store, clock: ManualClock): Promise<void> {
  for (const id of LICENSES) {
    const license = exampleLicense({ id, product: `product-${id}`, slots: 100 });
    await store.execute({ kind: 'install_license', license, by: 'admin' });
  }
  for (let round = 0; round < 4; round++) {
    clock.advance(MINUTE_MS);
    for (const id of LICENSES) {
      const aim = { licenseId: id };
      await store.execute(borrow(`ada-${round}`, 'longest', aim));
      await store.execute(unregister(`ada-${round}`, aim));
    }
    await store.execute({ kind: 'record_event', event: { kind: 'server_started', version: '1' } });
    if (round % 2 === 0) await store.execute({ kind: 'sign_heads' });
  }
  const before = plus(NOW, 2.5 * MINUTE_MS);
  await store.execute({ kind: 'thin_audit', before, chain: licenseId(THINNED), by: 'admin' });
}
