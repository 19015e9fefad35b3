import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { before, describe, test } from 'node:test';
import { hasPostgres, sharedPostgres } from '../support/stores/postgres.ts';
import { listFiles, PAGE, readFiles, sizeOf } from '../trace/path-page.ts';
import { type Traced, traceRequests } from '../trace/trace-requests.ts';

const ROOT = new URL('../../', import.meta.url);
const TEXT = readFileSync(PAGE, 'utf8');

/** Lower them when the path gets shorter. */
const MOST = {
  register: { files: 54, functions: 230 },
  heartbeat: { files: 49, functions: 199 },
  /** A few more than are traced: they vary with what the database sends together. */
  postgres: { files: 80, functions: 430 },
};

/** On SQLite, every loop that runs within ten seconds runs within this, too. */
const IDLE_MS = 2000;

describe('ARCHITECTURE.md', () => {
  test('names only files that exist', () => {
    const sources = globSync('{packages/*/{src,test},test,docs}/**/*.{ts,md}', { cwd: ROOT });
    const named = [...TEXT.matchAll(/`((?:[\w-]+\/)+[\w-]+\.(?:ts|md))`/g)].map(([, file]) => file as string);
    assert.ok(named.length > 30, `${named.length} files`);
    for (const file of named)
      assert.ok(
        sources.some((source) => `/${source}`.endsWith(`/${file}`)),
        file,
      );
  });
});

describe('The path of a register', () => {
  let traced: Traced;
  before(async () => {
    traced = await traceRequests({ idleMs: IDLE_MS });
  });

  test('runs through the files of ARCHITECTURE.md, in every thread', () => {
    assert.deepEqual(readFiles(TEXT), listFiles(traced.register), 'Run "npm run path".');
  });

  test('has not become longer, nor has that of a heartbeat', () => {
    expectAtMost(traced.register, MOST.register);
    expectAtMost(traced.heartbeat, MOST.heartbeat);
  });
});

const skip = hasPostgres ? false : 'optional: needs PostgreSQL for this platform';
describe('The path of a register on PostgreSQL', { skip }, () => {
  const postgres = sharedPostgres();

  test('has not become longer', async () => {
    let { register } = await traceOnce();
    // On a busy machine something else may happen to fall into the request.
    for (let again = 0; again < 2 && !isAtMost(register, MOST.postgres); again++) {
      ({ register } = await traceOnce());
    }
    expectAtMost(register, MOST.postgres);
  });

  async function traceOnce(): Promise<Traced> {
    const database = await (await postgres()).createDatabase('tables');
    return traceRequests({ idleMs: IDLE_MS, database });
  }
});

interface PathSize {
  readonly files: number;
  readonly functions: number;
}

function isAtMost(traced: Traced['register'], most: PathSize): boolean {
  const { files, functions } = sizeOf(traced);
  return files <= most.files && functions <= most.functions;
}

function expectAtMost(traced: Traced['register'], most: PathSize): void {
  const { files, functions } = sizeOf(traced);
  assert.ok(files > 30 && files <= most.files, `${files} files`);
  assert.ok(functions > 100 && functions <= most.functions, `${functions} functions`);
}
