import { createPrivateKey } from 'node:crypto';
import type { DatabaseSync } from 'node:sqlite';
import type { HeadsSigned } from '../../../core/nouns/audit-event.ts';
import type { Instant } from '../../../core/nouns/instant.ts';
import type { MasterKey } from '../../../secrets/seal.ts';
import {
  type AuditKeys,
  anchorMac,
  type ChainHead,
  headDigest,
  isSameMac,
  joinEvents,
  linkMac,
  SYSTEM_CHAIN,
  signHeadsText,
  sumHeads,
  toggleHead,
} from '../../engine/audit/audit-chain.ts';
import type { Row, RowValue } from '../../engine/rows.ts';
import { readable } from '../../engine/sql.ts';
import type { RowOf } from '../../engine/tables.ts';
import { listRows } from '../wire/read-rows.ts';
import { isAuditAnchored, loadAuditKey, loadIdentityKey } from '../wire/sealed-secrets.ts';
import type { SqliteStatements } from './statements.ts';

/**
 * The keys of the log; created with the store, whose empty chains are anchored here. A used store that has
 * lost its audit key gets a new key but never an anchor: nothing can vouch for what it holds.
 */
export function openAudit(db: DatabaseSync, masterKey: MasterKey): AuditKeys {
  db.exec('BEGIN IMMEDIATE');
  try {
    const mayAnchor = !isAuditAnchored(db) && isUnused(db);
    const audit = loadAuditKey(db, masterKey);
    const der = Buffer.from(loadIdentityKey(db, masterKey));
    if (mayAnchor) anchorAll(db, audit);
    db.exec('COMMIT');
    return { audit, identity: createPrivateKey({ key: der, format: 'der', type: 'pkcs8' }) };
  } catch (error) {
    if (db.isTransaction) db.exec('ROLLBACK');
    throw error;
  }
}

/** Whether the store was never used: it holds only the row that it was created with. */
function isUnused(db: DatabaseSync): boolean {
  const tables = db.prepare(`SELECT name FROM sqlite_master
    WHERE type = 'table' AND name <> 'server' AND name NOT GLOB 'sqlite_*'`);
  const isEmpty = ({ name }: Row) => db.prepare(`SELECT 1 FROM "${name}" LIMIT 1`).get() === undefined;
  return db.prepare('SELECT mark FROM server').get()?.mark === null && tables.all().every(isEmpty);
}

/** For chains that were verified, or never anchored. */
export function anchorAll(db: DatabaseSync, key: Uint8Array): void {
  const mac = anchorMac(key, sumHeads(key, listHeads(db)));
  db.prepare('UPDATE server SET audit_anchor = ?').run(mac);
}

/** The server's row is created with the file. */
export function getServer({ getServer: read }: SqliteStatements): RowOf<'server'> {
  return read.get() as RowOf<'server'>;
}

/** The head of every chain, from the row of the license or of the server. */
export function listHeads(db: DatabaseSync): ReadonlyMap<number, ChainHead> {
  const rows = listRows<Pick<RowOf<'server'>, 'audit_n' | 'audit_mac'> & { readonly chain: number }>(
    db,
    `SELECT ${SYSTEM_CHAIN} AS chain, ${readable('audit_n')}, audit_mac FROM server
     UNION ALL SELECT id, ${readable('audit_n')}, audit_mac FROM license ORDER BY 1`,
  );
  return new Map(rows.map((row) => [row.chain, { n: row.audit_n, mac: row.audit_mac }]));
}

/**
 * Writes links, and moves the anchor with each. Its state is ahead of the file during a commit, and is
 * rebuilt after one that failed.
 */
export class AuditLedger {
  readonly #statements: SqliteStatements;
  readonly #keys: AuditKeys;
  readonly key: Uint8Array;
  /** Of the head of each chain, so that a new one costs one digest and not two. */
  readonly #digests = new Map<number, Uint8Array>();
  readonly #heads: Uint8Array;
  /** How many links were ever written. */
  links: number;
  #signedLinks: number | null;
  #isMoved = false;
  /** The values of the links of this commit. */
  #unwritten: RowValue[] = [];
  /** False if the anchor did not match. It is left alone: a new one would hide what was done to the log. */
  readonly isSound: boolean;

  constructor(db: DatabaseSync, statements: SqliteStatements, keys: AuditKeys) {
    this.#statements = statements;
    this.#keys = keys;
    this.key = keys.audit;
    const heads = listHeads(db);
    for (const [chain, head] of heads) this.#digests.set(chain, headDigest(keys.audit, chain, head));
    const server = getServer(statements);
    const found = sumHeads(keys.audit, heads);
    this.links = found.links;
    this.#heads = found.heads;
    this.#signedLinks = server.audit_signed_links;
    const anchor = server.audit_anchor;
    this.isSound = anchor !== null && isSameMac(anchor, anchorMac(keys.audit, found));
  }

  /** Whether anything was written since the heads were signed. */
  get isSigned(): boolean {
    return this.#signedLinks === this.links;
  }

  /** All events of one chain in this commit form one link; no events, no link. `writeLinks` must follow. */
  addLink(chain: number, head: ChainHead, events: readonly string[], at: Instant): ChainHead {
    if (events.length === 0) return head;
    const link = { chain, n: head.n + 1, at, events: joinEvents(events) };
    const mac = linkMac(this.key, head.mac, link);
    this.#unwritten.push(chain, link.n, at, link.events, mac);
    const newest = { n: link.n, mac };
    this.#moveAnchor(chain, newest);
    return newest;
  }

  writeLinks(): void {
    this.#statements.addLinks.run(this.#unwritten);
    this.#unwritten = [];
  }

  #moveAnchor(chain: number, head: ChainHead): void {
    const before = this.#digests.get(chain);
    const digest = headDigest(this.key, chain, head);
    if (before !== undefined) toggleHead(this.#heads, before);
    toggleHead(this.#heads, digest);
    this.#digests.set(chain, digest);
    this.links += 1;
    this.#isMoved = true;
  }

  /** The new anchor, for the commit that wrote the links; `null`: the old one stays. */
  takeAnchor(): Uint8Array | null {
    const isNew = this.#isMoved && this.isSound;
    this.#isMoved = false;
    return isNew ? anchorMac(this.key, { links: this.links, heads: this.#heads }) : null;
  }

  sign(heads: HeadsSigned['heads']): HeadsSigned {
    return signHeadsText(this.#keys, { links: this.links, heads });
  }

  /** The newest link is the one that signs all others. */
  markSigned(): void {
    this.#signedLinks = this.links;
    this.#statements.saveSignedLinks.run(this.links);
  }
}
