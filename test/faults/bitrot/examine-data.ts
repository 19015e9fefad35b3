import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { NO_HEADERS } from '@berth/web/http-request';
import { pino } from 'pino';
import { composeApp } from '../../../packages/server/src/compose/compose.ts';
import { loadConfig } from '../../../packages/server/src/config.ts';
import type { Instant } from '../../../packages/server/src/core/nouns/instant.ts';
import type { StoreNotice } from '../../../packages/server/src/core/nouns/store-notice.ts';
import { loadMasterKey } from '../../../packages/server/src/secrets/master-key.ts';
import { createManualClock } from '../../../packages/server/src/store/clock.ts';
import { openInThreadStore } from '../../../packages/server/src/store/sqlite/in-thread-store.ts';
import type { Store } from '../../../packages/server/src/store/store.ts';

/** What a server says of its data, and everything that is in it. */
export interface Examined {
  /** Why it does not start; `null`: it does. */
  readonly refusal: string | null;
  readonly notices: readonly StoreNotice['kind'][];
  /** Empty if it was refused or something was noticed: then nobody needs to look further. */
  readonly answers: Readonly<Record<string, string>>;
  readonly facts: Facts;
}

/** By table: each row as its columns. */
type Facts = Readonly<Record<string, readonly Readonly<Record<string, unknown>>[]>>;

/** What administrators ask, and with it everything that clients are told. */
const QUESTIONS = [
  'audit?limit=500',
  'bars',
  'history/consumption',
  'history/denials',
  'history/slots',
  'history/users',
  'history/waits',
  'keys',
  'license-requests',
  'licenses',
  'registrations',
  'reports',
  'rules',
  'rules/history',
  'settings',
  'tokens',
  'users',
];
/** Those that look for damage. */
const EXAMINATIONS = ['doctor', 'audit/verify'];

/** Opens a folder as a server does, at this time, and reads all that is in it. */
export async function examineData(folder: string, at: Instant): Promise<Examined> {
  const notices: StoreNotice['kind'][] = [];
  const nothing = { answers: {}, facts: {} };
  let store: Store | null = null;
  try {
    store = openAsServer(folder, at, (notice) => notices.push(notice.kind));
    await store.keepClock();
    const answers = notices.length > 0 ? {} : await ask(store, folder, at);
    await store.close();
    if (notices.length > 0) return { refusal: null, notices, ...nothing };
    return { refusal: null, notices, answers, facts: readFacts(join(folder, 'berth.db')) };
  } catch (error) {
    await store?.close().catch(() => {});
    return { refusal: String(error), notices, ...nothing };
  } finally {
    for (const name of ['berth.db', 'berth.db-wal', 'berth.db-shm', 'berth.db-sums']) {
      rmSync(join(folder, name), { force: true });
    }
  }
}

function openAsServer(folder: string, at: Instant, onNotice: (notice: StoreNotice) => void): Store {
  const masterKey = loadMasterKey({ value: null, file: join(folder, 'master.key'), mayCreate: false });
  return openInThreadStore({
    file: join(folder, 'berth.db'),
    masterKey,
    clock: createManualClock(at),
    onNotice,
  });
}

async function ask(store: Store, folder: string, at: Instant): Promise<Record<string, string>> {
  const { config } = loadConfig({ flags: {}, env: {}, file: null });
  const environment = { version: '0', clock: createManualClock(at) };
  const options = {
    config: { ...config, data: folder },
    env: {},
    isServing: false,
    certificates: null,
    environment,
  };
  const { app } = composeApp(store, options, pino({ level: 'silent' }), () => null);
  const answers: Record<string, string> = {};
  for (const question of [...QUESTIONS, ...EXAMINATIONS]) {
    const request = { method: 'GET', url: `/api/admin/${question}`, headers: NO_HEADERS };
    const { signal } = new AbortController();
    const reply = await app.answer(
      { ...request, signal, readBody: () => Buffer.alloc(0) },
      { address: 'control', isControl: true },
    );
    answers[question] =
      `${reply.status} ${question === 'doctor' ? listProblems(`${reply.body}`) : reply.body}`;
  }
  return answers;
}

/** Other findings depend on the machine. */
function listProblems(body: string): string {
  const { findings } = JSON.parse(body) as { findings: { severity: string; text: string }[] };
  return findings.flatMap(({ severity, text }) => (severity === 'problem' ? [text] : [])).join('\n');
}

/** Every row of every table, as it is. */
function readFacts(file: string): Facts {
  const db = new DatabaseSync(file, { readOnly: true });
  try {
    const tables = db.prepare("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name").all();
    return Object.fromEntries(tables.map(({ name }) => [name, db.prepare(`SELECT * FROM "${name}"`).all()]));
  } finally {
    db.close();
  }
}

/** Whether the doctor or the check of the audit log says more than it did. */
export function isFoundByExamination(expected: Examined, actual: Examined): boolean {
  return EXAMINATIONS.some((question) => expected.answers[question] !== actual.answers[question]);
}

/** Where two differ: the columns of tables, and the questions that are answered in another way. */
export function findDifferences(expected: Examined, actual: Examined): readonly string[] {
  const places = new Set<string>();
  for (const [table, rows] of Object.entries(expected.facts)) {
    const others = actual.facts[table] ?? [];
    if (rows.length !== others.length) places.add(`${table} (rows)`);
    for (const [index, row] of rows.entries()) {
      for (const [column, value] of Object.entries(row)) {
        if (!isSame(value, others[index]?.[column])) places.add(`${table}.${column}`);
      }
    }
  }
  for (const [question, answer] of Object.entries(expected.answers)) {
    if (answer !== actual.answers[question]) places.add(`GET /api/admin/${question}`);
  }
  return [...places];
}

function isSame(a: unknown, b: unknown): boolean {
  return a instanceof Uint8Array && b instanceof Uint8Array ? Buffer.compare(a, b) === 0 : a === b;
}
