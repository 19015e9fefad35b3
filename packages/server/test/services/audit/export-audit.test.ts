import assert from 'node:assert/strict';
import { createHash, generateKeyPairSync, sign } from 'node:crypto';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, before, describe, test } from 'node:test';
import { openTestStore } from '../../../../../test/support/test-app.ts';
import { testLicense } from '../../../../../test/support/test-license.ts';
import { instant } from '../../../src/core/nouns/instant.ts';
import { licenseId } from '../../../src/core/nouns/license.ts';
import { createAuditTrail } from '../../../src/services/audit/audit-trail.ts';
import { ExportCheck } from '../../../src/services/audit/check-export.ts';
import { exportAudit, exportSeal } from '../../../src/services/audit/export-audit.ts';
import type { Store } from '../../../src/store/store.ts';

const HOST = { hostname: null, address: null, info: null };

interface Life {
  after(work: () => unknown): void;
}

/** More links than a page holds, on three chains, one of them thinned out. */
async function writeHistory(t: Life) {
  const licenses = [testLicense(1, { slots: 500 }), testLicense(2)];
  const { store, clock, folder } = await openTestStore(t, licenses);
  for (let index = 0; index < 260; index++) {
    const aim = { product: null, licenseId: licenseId(1), user: `user-${index}` };
    await store.execute({ kind: 'register', ...aim, host: HOST });
    clock.advance(1000);
  }
  await store.execute({ kind: 'sign_heads' });
  return { store, clock, folder };
}

async function readText(store: Store, dates: object = {}): Promise<string> {
  const { signal } = new AbortController();
  return new Response(
    await exportAudit(store, { hardwareId: 'this-machine', dates, signal, onEnd: () => {} }),
  ).text();
}

function sayAt(at: number): string {
  return new Date(at).toISOString();
}

function check(text: string, pieceBytes = 1000) {
  const checking = new ExportCheck();
  const bytes = Buffer.from(text);
  for (let from = 0; from < bytes.length; from += pieceBytes)
    checking.take(bytes.subarray(from, from + pieceBytes));
  return checking.end();
}

describe('an export', () => {
  test('contains every link as it was written, in order, and a signature', async (t) => {
    const { store } = await writeHistory(t);
    const text = await readText(store);
    const lines = text
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    const written = await store.read({ kind: 'list_links', after: 0, upTo: 10_000, limit: 10_000 });
    assert.equal(lines.length, written.length + 3);
    assert.deepEqual(lines.at(-2), { type: 'verdict', ok: true, problems: [] });
    for (const [index, { seq, chain, n, at, events, mac }] of written.entries()) {
      const told = { type: 'link', seq, chain, n, at: new Date(at).toISOString(), mac };
      assert.deepEqual(lines[index + 1], { ...told, events: JSON.parse(events) });
    }
    const verdict = check(text);
    assert.deepEqual(verdict.problems, []);
    assert.deepEqual(
      [verdict.links, verdict.chains, verdict.hardwareId],
      [written.length, 3, 'this-machine'],
    );
    assert.equal(verdict.identityKey, await createAuditTrail(store).readKeyFingerprint());
  });

  test('can be of a time, which is verified as a part', async (t) => {
    const { store, clock } = await writeHistory(t);
    const say = (seconds: number) => new Date(clock.readWall() - seconds * 1000).toISOString();
    const written = await store.read({ kind: 'list_links', after: 0, upTo: 10_000, limit: 10_000 });
    const between = async (since: number, until: number) => {
      const text = await readText(store, { since: say(since), until: say(until) });
      const { problems, links, from, to } = check(text);
      const inside = written.filter(({ at }) => say(since) <= sayAt(at) && sayAt(at) < say(until));
      assert.deepEqual([problems, links], [[], inside.length]);
      assert.deepEqual([from, to], [inside[0]?.seq ?? from, inside.at(-1)?.seq ?? to]);
      return { text, links };
    };
    assert.equal((await between(100, 50)).links, 50);
    assert.equal((await between(10_000, 9000)).links, 0);
    assert.equal((await between(10_000, -10)).links, written.length);
    const { text } = await between(100, 50);
    const lines = text.split('\n');
    const cut = [...lines.slice(0, 10), ...lines.slice(11)].join('\n');
    assert.match(check(resign(cut)).problems.join(), /Links of chain 1 are missing/);
    await assert.rejects(readText(store, { since: say(1), until: say(2) }), /"since" must be before "until"/);
  });

  test('is the same in pieces of any size', async (t) => {
    const { store } = await writeHistory(t);
    const text = await readText(store);
    const whole = check(text);
    for (const size of [1, 7, 1_000_000]) assert.deepEqual(check(text, size), whole);
  });

  test('contains totals of what was thinned out', async (t) => {
    const { store, clock } = await writeHistory(t);
    const before = instant(clock.readWall() - 100_000);
    await createAuditTrail(store).thin({ before, chain: licenseId(1) }, 'test');
    const text = await readText(store);
    const verdict = check(text);
    assert.deepEqual([verdict.problems, verdict.thinned], [[], 161]);
    const lines = text.split('\n').filter((line) => !line.includes('"type":"segment"'));
    assert.match(
      check(resign(lines.join('\n'))).problems.join(),
      /Links of chain 1 are missing, up to link 161/,
    );
  });

  test('has every link even if the log is thinned out meanwhile', async (t) => {
    const { store, clock } = await writeHistory(t);
    let reads = 0;
    const thinning: Store = {
      ...store,
      read: async (query) => {
        if (query.kind === 'list_links' && ++reads === 2) {
          const before = instant(clock.readWall() - 50_000);
          await createAuditTrail(store).thin({ before, chain: null }, 'test');
        }
        return store.read(query);
      },
    };
    const verdict = check(await readText(thinning));
    assert.deepEqual(verdict.problems, []);
    assert.ok(verdict.thinned > 200);
  });

  test('of a log that was tampered with says so, contains it all, and is not intact', async (t) => {
    const { store, folder } = await writeHistory(t);
    const db = new DatabaseSync(join(folder, 'berth.db'));
    db.exec("UPDATE audit_link SET events = replace(events, 'user-77', 'user-78')");
    db.exec("UPDATE audit_link SET events = 'x', at = 9007199254740991 WHERE chain = 1 AND n = 100");
    db.close();
    const text = await readText(store);
    const { ok, isIntact, problems, links } = check(text);
    assert.deepEqual([ok, isIntact, links], [false, true, 263]);
    assert.match(
      problems.join('\n'),
      /^The log was already broken .*\nlink 79 of chain 1: The link was changed/,
    );
    const isSaid = (line: string) => line.includes('"type":"verdict"');
    const silent = text.split('\n').filter((line) => !isSaid(line));
    assert.match(check(resign(silent.join('\n'))).problems.join(), /does not say whether the log was intact/);
    const lied = text.replace(/"ok":false,"problems":.*/, '"ok":true,"problems":[]}');
    assert.deepEqual(check(lied).problems, ['The signature is wrong: the export was changed.']);
    assert.equal(check(lied).isIntact, false);
  });

  test('that is cut anywhere is rejected', async (t) => {
    const { store } = await writeHistory(t);
    const text = await readText(store);
    for (let length = 0; length < text.length; length += 997) {
      assert.match(check(text.slice(0, length)).problems.join(), /interrupted/);
    }
    assert.match(check(text.slice(0, -1)).problems.join(), /interrupted/);
  });

  test('stops when the store fails in the middle', async (t) => {
    const { store } = await writeHistory(t);
    let reads = 0;
    const failing: Store = {
      ...store,
      read: (query) =>
        query.kind === 'list_links' && ++reads === 2 ? Promise.reject(new Error('disk')) : store.read(query),
    };
    await assert.rejects(readText(failing), /disk/);
  });
});

/** Signs a changed export with another key, as a forger would. */
function resign(text: string): string {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  const key = publicKey.export({ type: 'spki', format: 'der' }).toString('base64');
  const [header = '', ...rest] = text.trimEnd().split('\n').slice(0, -1);
  const content = `${[JSON.stringify({ ...JSON.parse(header), identity_key: key }), ...rest].join('\n')}\n`;
  const sha256 = createHash('sha256').update(content).digest('hex');
  const signature = sign(null, exportSeal(sha256), privateKey).toString('base64');
  return `${content}${JSON.stringify({ type: 'signature', sha256, signature })}\n`;
}

describe('an export that was changed', () => {
  let store: Store;

  const endings: (() => unknown)[] = [];

  before(async () => {
    store = (await writeHistory({ after: (work) => endings.push(work) })).store;
  });

  after(async () => {
    for (const end of endings) await end();
  });

  const CHANGES: readonly (readonly [string, (text: string) => string, RegExp])[] = [
    ['in a word', (text) => text.replace('user-77', 'user-78'), /signature is wrong/],
    ['in its header', (text) => text.replace('this-machine', 'that-machine'), /signature is wrong/],
    ['by removing a line', (text) => removeLine(text, 40), /signature is wrong/],
    ['by adding a line', (text) => `${text}{"type":"link"}\n`, /after the signature/],
    ['by a beginning of one more', (text) => `${text}{`, /after the signature/],
    [
      'by removing a line, and signed again',
      (text) => resign(removeLine(text, 40)),
      /Links of chain 1 are missing/,
    ],
    ['by swapping two lines, and signed again', (text) => resign(swapLines(text, 40)), /out of order/],
    ['into something else', () => 'hello\n', /not an export/],
    ['into nothing', () => '', /interrupted/],
  ];
  for (const [title, change, problem] of CHANGES) {
    test(`${title} is found`, async () => {
      const { ok, problems } = check(change(await readText(store)));
      assert.equal(ok, false);
      assert.match(problems.join(), problem);
    });
  }

  test('by a newer Berth, perhaps, is only called newer', async () => {
    const newer = (await readText(store)).replace('"version":1', '"version":2');
    assert.throws(
      () => check(newer),
      /^Error: it was written by a newer Berth \(format 2; this one knows 1\)/,
    );
  });

  test('not at all, but signed by another, has another key', async () => {
    const verdict = check(resign(await readText(store)));
    assert.deepEqual(verdict.problems, []);
    assert.notEqual(verdict.identityKey, await createAuditTrail(store).readKeyFingerprint());
  });
});

function removeLine(text: string, index: number): string {
  return text.split('\n').toSpliced(index, 1).join('\n');
}

function swapLines(text: string, index: number): string {
  const lines = text.split('\n');
  return lines.toSpliced(index, 2, lines[index + 1] as string, lines[index] as string).join('\n');
}
