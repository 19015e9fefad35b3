import assert from 'node:assert/strict';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { describe, type TestContext, test } from 'node:test';
import { hasPostgres, sharedPostgres } from '../../../../../../test/support/stores/postgres.ts';
import { Fault } from '../../../../src/core/nouns/fault.ts';
import { licenseId } from '../../../../src/core/nouns/license.ts';
import type { Store } from '../../../../src/store/store.ts';
import { consume, exampleLicense, register } from '../../../core/examples.ts';
import { openPatiently, PATIENT } from '../../exam/postgres-database.ts';
import { expectSound } from '../../exam/soundness.ts';

const skip = hasPostgres ? false : 'optional: needs PostgreSQL for this platform';
const shared = sharedPostgres();

/** When the connection breaks: before the next commit arrives, or after it was made. */
type Cut = 'before' | 'after';

/** A connection to the database on which commits get lost. */
class CuttingProxy {
  readonly #port: number;
  readonly #server = createServer((client) => this.#connect(client));
  cuts: Cut[] = [];
  /** No connection gets through. */
  isShut = false;

  constructor(port: number) {
    this.#port = port;
  }

  async listen(): Promise<number> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    return (this.#server.address() as AddressInfo).port;
  }

  close(): void {
    this.#server.close();
  }

  #connect(client: Socket): void {
    const database = connect(this.#port, '127.0.0.1');
    const end = () => {
      client.destroy();
      database.destroy();
    };
    for (const socket of [client, database]) socket.on('error', end).on('close', end);
    if (this.isShut) end();
    let isCut = false;
    client.on('data', (bytes: Buffer) => {
      const cut = isCommit(bytes) ? this.cuts.shift() : undefined;
      if (cut === 'before') end();
      else database.write(bytes);
      if (cut === 'after') isCut = true;
    });
    database.on('data', (bytes: Buffer) => {
      // The database names what it has done in the same word.
      if (isCut && isCommit(bytes)) end();
      else client.write(bytes);
    });
  }
}

/** Only works without prepared statements: those are sent by name after the first time. */
function isCommit(bytes: Uint8Array): boolean {
  return Buffer.from(bytes).includes('COMMIT');
}

interface Site {
  readonly store: Store;
  readonly proxy: CuttingProxy;
}

async function openSite(t: TestContext, askMs = PATIENT.askMs): Promise<Site> {
  const url = new URL(await (await shared()).createDatabase());
  const proxy = new CuttingProxy(Number(url.port));
  url.port = String(await proxy.listen());
  const timeouts = { ...PATIENT, askMs };
  const store = await openPatiently({ url: String(url), prepareStatements: false, timeouts });
  t.after(async () => {
    await store.close();
    proxy.close();
  });
  await store.execute({ kind: 'install_license', license: exampleLicense({ slots: 3 }), by: 'admin' });
  return { store, proxy };
}

async function readTotal(store: Store, product: string | null = null): Promise<number | undefined> {
  const [record] = await store.read({ kind: 'list_licenses', product });
  return record?.totals.total;
}

describe('a connection that breaks during a commit', { skip }, () => {
  for (const cuts of [['before'], ['after'], ['before', 'before'], ['after', 'after'], ['before', 'after']]) {
    test(`${cuts.join(', then ')}: the command counts once`, async (t) => {
      const { store, proxy } = await openSite(t);
      proxy.cuts = [...cuts] as Cut[];
      const outcome = await store.execute(consume(5));
      assert.equal(outcome.kind, 'measured');
      assert.ok(proxy.cuts.length < cuts.length, 'a connection was cut');
      proxy.cuts = [];
      assert.equal(await readTotal(store), 5);
      const again = await store.execute(consume(1));
      assert.equal(again.kind === 'measured' ? again.total : null, 6);
      await expectSound(store);
    });
  }

  test('many batches at once, on licenses and on the server, all count once', async (t) => {
    const { store, proxy } = await openSite(t);
    const kinds: Cut[] = ['before', 'after', 'after', 'before', 'after', 'before', 'after', 'after'];
    proxy.cuts = [...kinds, ...kinds];
    const event = { kind: 'server_started', version: 'test', settings: {} } as const;
    for (let round = 0; round < 10; round++) {
      await Promise.all([
        store.execute(consume(1)),
        store.execute(register(`user-${round % 3}`)),
        store.execute({ kind: 'record_event', event }),
      ]);
    }
    proxy.cuts = [];
    assert.equal(await readTotal(store), 10);
    const links = await store.read({ kind: 'list_audit', chain: 'system', limit: 1000, before: null });
    const starts = links.flatMap(({ events }) => events).filter(({ kind }) => kind === 'server_started');
    assert.equal(starts.length, 10);
    await expectSound(store);
  });

  test('a batch of many products counts once for all of them', async (t) => {
    const { store, proxy } = await openSite(t);
    const products = ['cam', 'cae', 'pdm'];
    for (const [index, product] of products.entries()) {
      const license = exampleLicense({ id: licenseId(20 + index), product });
      await store.execute({ kind: 'install_license', license, by: 'admin' });
    }
    for (const cuts of [['after'], ['before'], ['before', 'after'], ['after', 'before']]) {
      proxy.cuts = [...cuts] as Cut[];
      await Promise.all(products.map((product) => store.execute(consume(1, { product }))));
      assert.ok(proxy.cuts.length < cuts.length, 'a connection was cut');
    }
    proxy.cuts = [];
    for (const product of products) assert.equal(await readTotal(store, product), 4);
    await expectSound(store);
  });

  test('a database that stays away is reported, and nothing was counted', async (t) => {
    const { store, proxy } = await openSite(t, 500);
    proxy.cuts = ['before'];
    proxy.isShut = true;
    await assert.rejects(store.execute(consume(5)), Fault);
    assert.equal(store.isHealthy(), false);
    proxy.isShut = false;
    assert.equal(await readTotal(store), 0);
    assert.equal(store.isHealthy(), true);
    assert.equal((await store.execute(consume(2))).kind, 'measured');
  });
});
