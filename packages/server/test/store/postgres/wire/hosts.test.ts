import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Fault } from '../../../../src/core/nouns/fault.ts';
import type { Connection } from '../../../../src/store/postgres/wire/connection.ts';
import type { OpeningOptions } from '../../../../src/store/postgres/wire/database.ts';
import {
  ConnectionLost,
  isConnectionLost,
  toFault,
} from '../../../../src/store/postgres/wire/database-error.ts';
import { parseDatabaseUrls } from '../../../../src/store/postgres/wire/database-url.ts';
import { Hosts } from '../../../../src/store/postgres/wire/hosts.ts';

/** What a host does: it is a primary on a timeline, a standby, stopped, or says nothing. */
type State = number | 'standby' | 'down' | 'silent';

interface Opened {
  readonly host: string;
  readonly lineage: { readonly system: string; readonly timeline: number };
  isDead: boolean;
}

function makeHosts(names: string, states: Record<string, State>, systems: Record<string, string> = {}) {
  const moves: string[] = [];
  const seconds: string[] = [];
  const targets = parseDatabaseUrls(`postgres://u@${names}/d`);
  const open = async ({ target: { host } }: OpeningOptions): Promise<Connection> => {
    const state = states[host];
    if (state === 'silent') return new Promise(() => {});
    if (state === 'down') throw toFault(new ConnectionLost(`${host} is down.`));
    if (typeof state !== 'number') throw new Fault('store_unavailable', `${host} is a standby.`);
    const connection = {
      host,
      lineage: { system: systems[host] ?? 'one', timeline: state },
      isDead: false,
      async close() {
        connection.isDead = true;
      },
    };
    return connection as unknown as Connection;
  };
  const hosts = new Hosts(targets, open);
  hosts.onMoved = () => moves.push(hosts.host);
  hosts.onSecond = (other) => seconds.push(`${hosts.host} and ${other}`);
  const options: OpeningOptions = {
    target: targets[0],
    prepareStatements: true,
    answerTimeoutMs: 1,
    connectTimeoutMs: 1,
  };
  return {
    states,
    moves,
    seconds,
    open: async () => (await hosts.open(options)) as unknown as Opened,
    lookAround: () => hosts.lookAround(options),
  };
}

describe('of several hosts', () => {
  test('the one that can be written is used, wherever it stands', async () => {
    const { open, moves } = makeHosts('a,b,c', { a: 'down', b: 'standby', c: 3 });
    assert.equal((await open()).host, 'c');
    assert.deepEqual(moves, [], 'it was never elsewhere');
  });

  test('a promoted one is used once a connection is lost, and the other connections are closed', async () => {
    const { open, moves, states } = makeHosts('a,b', { a: 3, b: 'standby' });
    const [lost, idle] = [await open(), await open()];
    Object.assign(states, { a: 'silent', b: 4 });
    lost.isDead = true;
    assert.equal((await open()).host, 'b');
    assert.equal(idle.isDead, true);
    assert.deepEqual(moves, ['b:5432']);
  });

  test('those that do not answer are not waited for long', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const { open } = makeHosts('a,b', { a: 'silent', b: 3 });
    const opened = open();
    // The other one has answered by then.
    await new Promise(setImmediate);
    t.mock.timers.tick(1000);
    assert.equal((await opened).host, 'b');
  });

  test('they are asked again when the one in use refuses connections', async () => {
    const { open, states } = makeHosts('a,b', { a: 3, b: 'standby' });
    await open();
    states.a = 'down';
    await assert.rejects(open(), /No host .*a:5432: a is down\. b:5432: b is a standby\./);
    await assert.rejects(open(), isConnectionLost);
    states.b = 4;
    assert.equal((await open()).host, 'b');
  });

  test('an old primary that comes back is not used again', async () => {
    const { open, states, seconds } = makeHosts('a,b', { a: 3, b: 'standby' });
    (await open()).isDead = true;
    Object.assign(states, { a: 'down', b: 4 });
    (await open()).isDead = true;
    states.a = 3;
    const again = await open();
    assert.equal(again.host, 'b');
    again.isDead = true;
    states.b = 'down';
    await assert.rejects(open(), /a:5432: .*is an old primary/);
    assert.deepEqual(seconds, ['b:5432 and a:5432'], 'it was said while both could be written');
  });

  test('the one with the newest timeline is used if two can be written, and that is said once', async () => {
    const { open, lookAround, seconds } = makeHosts('a,b', { a: 3, b: 4 });
    assert.equal((await open()).host, 'b');
    await lookAround();
    assert.deepEqual(seconds, ['b:5432 and a:5432']);
  });

  test('a newer primary is found by looking around, although all connections work', async () => {
    const { open, lookAround, states, moves, seconds } = makeHosts('a,b', { a: 3, b: 'standby' });
    const connection = await open();
    states.b = 4;
    await lookAround();
    assert.equal(connection.isDead, true);
    assert.equal((await open()).host, 'b');
    assert.deepEqual(moves, ['b:5432']);
    assert.deepEqual(seconds, ['b:5432 and a:5432'], 'both are named, and the new one is in use');
  });

  test('a newer primary is found under the same name, as behind a pooler', async () => {
    const { open, lookAround, states, moves } = makeHosts('a', { a: 3 });
    const connection = await open();
    await lookAround();
    assert.equal(connection.isDead, false);
    states.a = 4;
    await lookAround();
    assert.equal(connection.isDead, true);
    assert.deepEqual(moves, ['a:5432']);
  });

  test('the one in use is kept if another one is just as new', async () => {
    const { open, states, moves } = makeHosts('a,b', { a: 'down', b: 3 });
    (await open()).isDead = true;
    states.a = 3;
    assert.equal((await open()).host, 'b');
    assert.deepEqual(moves, []);
  });

  test('the one in use is kept if it is slow to answer, and another one is just as new', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const { open, lookAround, states, moves, seconds } = makeHosts('a,b', { a: 3, b: 'standby' });
    const connection = await open();
    Object.assign(states, { a: 'silent', b: 3 });
    const looked = lookAround();
    await new Promise(setImmediate);
    t.mock.timers.tick(1000);
    await looked;
    assert.equal(connection.isDead, false);
    assert.deepEqual(moves, []);
    assert.deepEqual(seconds, ['a:5432 and b:5432']);
  });

  test('another database is not used, whatever happens', async () => {
    const { open, states } = makeHosts('a,b', { a: 3, b: 9 }, { b: 'two' });
    (await open()).isDead = true;
    assert.equal((await open()).host, 'a');
    (await open()).isDead = true;
    states.a = 'down';
    await assert.rejects(open(), /b:5432: .*is no copy of the one that this server has used/);
  });
});

describe('one host', () => {
  test('whose address leads back to an old primary is refused', async () => {
    const { open, states, moves } = makeHosts('vip', { vip: 3 });
    const before = await open();
    states.vip = 4;
    await open();
    assert.equal(before.isDead, true);
    assert.deepEqual(moves, ['vip:5432']);
    states.vip = 3;
    await assert.rejects(open(), /restart this server/);
  });
});
