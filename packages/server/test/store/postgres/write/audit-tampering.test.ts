import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { describe, test } from 'node:test';
import { hasPostgres } from '../../../../../../test/support/stores/postgres.ts';
import { LICENSES, type Link, openTamperedLog } from '../../../../../../test/support/stores/tampered-log.ts';

/** Every way to change the log without a key, at every one of its links. Each must be detected. */
const skip = hasPostgres ? false : 'optional: needs PostgreSQL for this platform';
const log = openTamperedLog();

/** Inserts a link after another one, and moves the head to the end. */
async function putIn({ chain, n }: Link, events: string): Promise<void> {
  await log.ask('UPDATE audit_link SET n = -n - 1 WHERE chain = $1 AND n > $2', [chain, n]);
  await log.ask('UPDATE audit_link SET n = -n WHERE chain = $1 AND n < 0', [chain]);
  await log.run(
    `INSERT INTO audit_link (chain, n, at, events, mac)
     SELECT chain, n + 1, at, ${events}, mac FROM audit_link WHERE chain = $1 AND n = $2`,
    chain,
    n,
  );
  await log.setHead(chain, await log.headOf(chain));
}

async function cut({ chain, n }: Link): Promise<void> {
  await log.run('DELETE FROM audit_link WHERE chain = $1 AND n >= $2', chain, n);
}

const EVERYWHERE: Readonly<Record<string, (link: Link) => Promise<void>>> = {
  'an edited event': ({ seq }) =>
    log.run(`UPDATE audit_link SET events = replace(events, '"kind"', '"kinD"') WHERE seq = $1`, seq),
  'an edited time': ({ seq }) => log.run('UPDATE audit_link SET at = at + 1 WHERE seq = $1', seq),
  'another number': ({ seq }) => log.run('UPDATE audit_link SET n = n + 100000 WHERE seq = $1', seq),
  'an edited MAC': ({ seq }) =>
    log.run('UPDATE audit_link SET mac = $2 WHERE seq = $1', seq, randomBytes(32)),
  'an empty MAC': ({ seq }) => log.run("UPDATE audit_link SET mac = '' WHERE seq = $1", seq),
  'another chain': async ({ seq, chain }) => {
    const other = chain === 0 ? 1 : 0;
    await log.run(
      'UPDATE audit_link SET chain = $2, n = $3 WHERE seq = $1',
      seq,
      other,
      (await log.headOf(other)) + 1,
    );
    await log.setHead(other, await log.headOf(other));
  },
  'a deleted link': ({ seq }) => log.run('DELETE FROM audit_link WHERE seq = $1', seq),
  'an inserted copy': (link) => putIn(link, 'events'),
  'an inserted forged link': (link) => putIn(link, `'[{"kind":"slot_lent","user":"mallory"}]'`),
  'a cut tail': cut,
  'a cut tail, with the head set back': async (link) => {
    await cut(link);
    await log.setHead(link.chain, link.n - 1);
  },
  'a cut tail, with the head set back and no anchor': async (link) => {
    await cut(link);
    await log.setHead(link.chain, link.n - 1);
    await log.dropAnchor(link.chain);
  },
  'a number beyond the last one': ({ seq }) =>
    log.run('UPDATE audit_link SET seq = 1000000 + seq WHERE seq = $1', seq),
};

/** Swaps the content of two links of a chain, each with its MAC. */
async function swap({ chain, n }: Link): Promise<void> {
  await log.run(
    `UPDATE audit_link SET at = other.at, events = other.events, mac = other.mac FROM audit_link AS other
     WHERE audit_link.chain = $1 AND other.chain = $1
       AND audit_link.n IN ($2::bigint, $2::bigint + 1) AND other.n = 2 * $2::bigint + 1 - audit_link.n`,
    chain,
    n,
  );
}

describe('a log in PostgreSQL', { skip }, () => {
  test('is intact as it was written', async () => {
    const verdict = await log.verify();
    assert.deepEqual(verdict.problems, []);
    assert.deepEqual([verdict.chains, verdict.links], [LICENSES.length + 1, log.links.length]);
    assert.ok(verdict.thinned > 0);
  });

  for (const [title, tamper] of Object.entries(EVERYWHERE)) {
    test(`shows ${title}, at every link`, async () => {
      const missed: Link[] = [];
      for (const link of log.links) if ((await log.verifyAfter(() => tamper(link))).ok) missed.push(link);
      assert.deepEqual(missed, []);
    });
  }

  test('shows two neighbours that were swapped, at every link', async () => {
    const pairs = log.links.filter(({ chain, n }) =>
      log.links.some((one) => one.chain === chain && one.n === n + 1),
    );
    assert.equal(pairs.length, log.links.length - LICENSES.length - 1);
    for (const link of pairs)
      assert.equal((await log.verifyAfter(() => swap(link))).ok, false, JSON.stringify(link));
  });
});
