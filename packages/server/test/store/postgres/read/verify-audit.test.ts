import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { describe, test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import { hasPostgres } from '../../../../../../test/support/stores/postgres.ts';
import { openTamperedLog } from '../../../../../../test/support/stores/tampered-log.ts';
import { instant } from '../../../../src/core/nouns/instant.ts';
import { licenseId } from '../../../../src/core/nouns/license.ts';
import { planQuery } from '../../../../src/store/engine/queries.ts';
import { listAudit } from '../../../../src/store/postgres/read/read-audit.ts';
import { verifyAudit } from '../../../../src/store/postgres/read/verify-audit.ts';
import { answerQuery } from '../../../../src/store/postgres/wire/ask.ts';

const skip = hasPostgres ? false : 'optional: needs PostgreSQL for this platform';
const log = openTamperedLog();

/** Changes to anything but links. */
const ELSEWHERE: Readonly<Record<string, readonly string[]>> = {
  'a license that was removed with everything it had': [
    'DELETE FROM audit_link WHERE chain = 1',
    'DELETE FROM license WHERE id = 1',
  ],
  'all licenses removed, but not the anchor of the set': [
    'DELETE FROM audit_link WHERE chain <> 0',
    'DELETE FROM audit_segment',
    'DELETE FROM license',
  ],
  'links of a license that does not exist': ['DELETE FROM license WHERE id = 3'],
  'a license that was inserted': [
    `INSERT INTO license (id, product, facts, added_order, added_at, audit_n, audit_mac)
     SELECT 99, product, facts, 99, added_at, 0, '' FROM license WHERE id = 1`,
  ],
  'a license that was inserted with an anchor': [
    `INSERT INTO license (id, product, facts, added_order, added_at, audit_n, audit_mac, audit_anchor)
     SELECT 99, product, facts, 99, added_at, 0, '', audit_anchor FROM license WHERE id = 1`,
  ],
  'a license with another id': ['UPDATE license SET id = 9223372036854775807 WHERE id = 1'],
  'two licenses that were swapped': [
    'UPDATE license SET id = -id WHERE id IN (1, 3)',
    'UPDATE license SET id = 4 + id WHERE id < 0',
  ],
  'anchors that were swapped': [
    `UPDATE license SET audit_anchor = (SELECT other.audit_anchor FROM license AS other
       WHERE other.id = 4 - license.id) WHERE id IN (1, 3)`,
  ],
  'an anchor that is empty': ["UPDATE license SET audit_anchor = '' WHERE id = 1"],
  'an anchor that is missing': ['UPDATE license SET audit_anchor = NULL WHERE id = 1'],
  "the system's anchor that is missing": ['UPDATE server SET audit_anchor = NULL'],
  "the system's anchor that was changed": ["UPDATE server SET audit_anchor = '\\x00'"],
  'a set of chains without an anchor': ['UPDATE server SET audit_chains = NULL'],
  'a set of chains with a different anchor': ['UPDATE server SET audit_chains = audit_anchor'],
  'a chain that was emptied': [
    'DELETE FROM audit_link WHERE chain = 1',
    "UPDATE license SET audit_n = 0, audit_mac = '', audit_anchor = NULL WHERE id = 1",
  ],
  'a head that was set back': ['UPDATE license SET audit_n = audit_n - 1 WHERE id = 1'],
  'a head with a number that is too large': ['UPDATE license SET audit_n = 9223372036854775807 WHERE id = 1'],
  'a head with a number that is too small': ['UPDATE server SET audit_n = -9223372036854775808'],
  'a link behind everything that is listed': [
    'UPDATE audit_link SET seq = 9223372036854775807 WHERE seq = (SELECT max(seq) FROM audit_link)',
  ],
  'a link without a number among those with one': [
    'UPDATE audit_link SET seq = NULL WHERE chain = 1 AND n = 4',
  ],
  'numbers in another order': ['UPDATE audit_link SET seq = -seq WHERE chain = 1'],
  'a last number that was set back': ['UPDATE audit_order SET last_seq = last_seq - 1'],
  'a missing order': ['DELETE FROM audit_order'],
  'a segment of a license that does not exist': ['UPDATE audit_segment SET chain = 77'],
  'a missing segment': ['DELETE FROM audit_segment'],
  'a segment of another chain': ['UPDATE audit_segment SET chain = 1'],
  'totals that were changed': [`UPDATE audit_segment SET totals = '{"slot_lent":1}'`],
  'totals that are not JSON': [`UPDATE audit_segment SET totals = 'x'`],
  'a segment with extra data': ['UPDATE audit_segment SET events = 9223372036854775807'],
  'a segment with another end': ['UPDATE audit_segment SET last_n = last_n + 1'],
  'a segment with another beginning': ['UPDATE audit_segment SET first_n = 2'],
  'a link that fills a table without a key': [
    'ALTER TABLE audit_link DROP CONSTRAINT audit_link_pkey',
    `INSERT INTO audit_link (chain, n, at, events, mac, seq)
     SELECT chain, n, at, events, mac, -1 FROM audit_link WHERE chain = 1 AND n = 4`,
  ],
  'a link without a chain': [
    'ALTER TABLE audit_link DROP CONSTRAINT audit_link_pkey',
    'ALTER TABLE audit_link ALTER chain DROP NOT NULL',
    `INSERT INTO audit_link (at, n, events, mac) SELECT at, 1, events, mac FROM audit_link WHERE seq = 5`,
  ],
  'a link without content': [
    'ALTER TABLE audit_link ALTER events DROP NOT NULL',
    'UPDATE audit_link SET events = NULL WHERE seq = 5',
  ],
};

async function runAll(statements: readonly string[]): Promise<void> {
  for (const text of statements) await log.run(text);
}

describe('changes outside the links', { skip }, () => {
  for (const [title, statements] of Object.entries(ELSEWHERE)) {
    test(`shows ${title}`, async () => {
      const { ok, problems } = await log.verifyAfter(() => runAll(statements));
      assert.equal(ok, false);
      for (const { problem } of problems) assert.match(problem, /^[A-Z].+\.$/);
    });
  }

  test('show a chain that was emptied, even if its head was never signed', async () => {
    const { problems } = await log.verifyAfter(async () => {
      await runAll(ELSEWHERE['a chain that was emptied'] ?? []);
    });
    const missing = { chain: 1, n: 0, problem: 'The anchor of the chain is missing.' };
    assert.ok(problems.some((problem) => isDeepStrictEqual(problem, missing)));
  });

  test('may leave links without numbers at the end of a chain', async () => {
    const newest = 'SELECT max(n) FROM audit_link AS own WHERE own.chain = audit_link.chain';
    const change = () => log.run(`UPDATE audit_link SET seq = NULL WHERE n >= (${newest}) - 1`);
    assert.deepEqual((await log.verifyAfter(change)).problems, []);
  });

  test('do not make an emptied log pass for a new one', async () => {
    const clear = `DELETE FROM audit_link; DELETE FROM audit_segment; DELETE FROM license;
      UPDATE server SET audit_n = 0, audit_mac = '', audit_anchor = NULL, audit_chains = NULL`;
    const { ok, problems } = await log.verifyAfter(() => log.ask(clear));
    assert.deepEqual([ok, problems.length], [false, 2]);
  });
});

describe('values that Berth never writes', { skip }, () => {
  const [LEAST, MOST] = ['-9223372036854775808', '9223372036854775807'];
  for (const column of ['chain', 'n', 'seq', 'at']) {
    for (const value of [LEAST, MOST, '-1', column === 'chain' ? '77' : '0']) {
      test(`${column} = ${value}`, async () => {
        const change = () => log.run(`UPDATE audit_link SET ${column} = ${value} WHERE chain = 1 AND n = 4`);
        const look = async () => [await log.verify(), await countListed()] as const;
        const [verdict, listed] = await log.lookAfter(change, look);
        assert.equal(verdict.ok, false);
        assert.ok(listed >= log.links.length - 1);
      });
    }
  }

  for (const events of ['', 'x', '1', 'null', '[null]', '[{}]', '{"kind":1}', '[{"kind":"heads_signed"}]']) {
    test(`events = ${JSON.stringify(events)}`, async () => {
      const change = () => log.run('UPDATE audit_link SET events = $1 WHERE chain = 0 AND n = 2', events);
      const look = async () => [await log.verify(), await countListed()] as const;
      const [verdict, listed] = await log.lookAfter(change, look);
      assert.equal(verdict.ok, false);
      assert.equal(listed, log.links.length);
    });
  }
});

/** How many links both lists show. */
async function countListed(): Promise<number> {
  const query = { chain: null, before: null, limit: 1e6 } as const;
  const listed = await listAudit(log.ask, { kind: 'list_audit', ...query });
  const links = { kind: 'list_links', after: 0, upTo: 1e9, limit: 1e6 } as const;
  const written = await answerQuery(log.ask, planQuery(links, instant(0), []));
  for (const { at } of listed) assert.doesNotThrow(() => new Date(at).toISOString());
  for (const { events } of written) assert.ok(Array.isArray(JSON.parse(events)));
  return Math.min(listed.length, written.length);
}

describe('a log of many pages', { skip }, () => {
  const EVENTS = '[{"kind":"slot_lent","user":"ada"}]';

  test('is intact, and shows a change anywhere', async () => {
    const write = () => log.continueChain(3500, () => EVENTS);
    const verdict = await log.verifyAfter(write);
    assert.deepEqual(verdict.problems, []);
    assert.equal(verdict.links, log.links.length + 3500);
    for (const n of [999, 1000, 1001, 2000, 3000]) {
      const { problems } = await log.verifyAfter(async () => {
        await write();
        await log.run('DELETE FROM audit_link WHERE chain = 1 AND n = $1', n);
      });
      assert.deepEqual(
        problems.map(({ chain, n: at }) => [chain, at]),
        [[1, n + 1]],
      );
    }
  });

  test('shows links in no chain and on no page', async () => {
    const { problems } = await log.verifyAfter(async () => {
      await log.continueChain(1500, () => EVENTS);
      await runAll(ELSEWHERE['a link without a chain'] ?? []);
    });
    assert.match(problems[0]?.problem ?? '', /^The table of links is inconsistent: \d+ of \d+ links are in/);
  });

  test('may have links that are larger than a page', async () => {
    const large = JSON.stringify([{ kind: 'slot_lent', user: 'x'.repeat(2 * 1024 * 1024) }]);
    const write = () => log.continueChain(12, (n) => (n % 3 === 0 ? large : EVENTS));
    const look = async () => {
      await log.ask(`UPDATE audit_link SET seq = 1000 + id WHERE seq IS NULL`);
      const lists = [];
      for (const limits of [
        { limit: 1e6 },
        { limit: 8 },
        { limit: 8, after: 0 },
        { limit: 100, eventLimit: 5 },
      ]) {
        const query = { kind: 'list_audit', chain: licenseId(1), before: null, ...limits } as const;
        lists.push((await listAudit(log.ask, query)).map(({ n }) => n));
      }
      await log.ask('UPDATE audit_order SET last_seq = 1000000');
      return [(await log.verify()).problems, lists] as const;
    };
    const [problems, lists] = await log.lookAfter(write, look);
    assert.deepEqual(problems, []);
    const count = log.links.filter(({ chain }) => chain === 1).length + 12;
    const all = Array.from({ length: count }, (_, index) => index + 1);
    const newest = all.toReversed();
    assert.deepEqual(lists, [newest, newest.slice(0, 8), all.slice(0, 8), newest.slice(0, 5)]);
  });

  test('names no more than a hundred problems', async () => {
    const flood = `INSERT INTO audit_link (chain, n, at, events, mac)
      SELECT 1, 1000 + 2 * n, 0, '[]', '' FROM generate_series(1, 2000) AS n`;
    assert.equal((await log.verifyAfter(() => log.run(flood))).problems.length, 100);
  });

  test('stops being verified when nobody waits', async () => {
    await assert.rejects(verifyAudit(log.ask, log.keys, AbortSignal.abort(new Error('enough'))), /enough/);
  });
});

describe('a head that was signed', { skip }, () => {
  test('must still be in its chain, even if all MACs are right', async () => {
    const forge = async () => {
      await log.run('DELETE FROM audit_link WHERE chain = 1 AND n > 1');
      await log.setHead(1, 1);
      await log.continueChain(10, () => '[{"kind":"slot_lent","user":"eve"}]');
    };
    const { problems } = await log.verifyAfter(forge);
    assert.match(
      problems[0]?.problem ?? '',
      /^Link \d+ of the chain of the license 1, which was signed, is missing/,
    );
    assert.deepEqual(new Set(problems.map(({ chain }) => chain)), new Set([0]));
  });

  test('must be signed by this server', async () => {
    const { privateKey } = generateKeyPairSync('ed25519');
    const identity = privateKey.export({ type: 'pkcs8', format: 'der' });
    const { problems } = await verifyAudit(log.ask, { ...log.keys, identity }, new AbortController().signal);
    assert.match(problems[0]?.problem ?? '', /is not from this server/);
  });
});
