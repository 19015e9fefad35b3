import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { test } from 'node:test';
import { instant } from '../../../../src/core/nouns/instant.ts';
import {
  anchorMac,
  eventText,
  headDigest,
  headsText,
  isSameMac,
  linkMac,
  segmentMac,
  sumHeads,
} from '../../../../src/store/engine/audit/audit-chain.ts';

const KEY = Buffer.alloc(32, 7);
const [A, B] = [Buffer.alloc(32, 0xa1), Buffer.alloc(32, 0xb2)];

function hmac(...parts: (string | Uint8Array)[]): Uint8Array {
  const sum = createHmac('sha256', KEY);
  for (const part of parts) sum.update(part);
  return new Uint8Array(sum.digest());
}

/** What is written once must be verified by every later version. */
test('what the MACs of the log cover never changes', () => {
  const link = { chain: 5, n: 6, at: instant(7), events: '[]' };
  assert.deepEqual(linkMac(KEY, A, link), hmac('5\n6\n7\n', A, '\n[]'));
  const [first, second] = [hmac('head\n0\n2\n', A), hmac('head\n5\n3\n', B)];
  assert.deepEqual(headDigest(KEY, 5, { n: 3, mac: B }), second);
  const anchor = sumHeads(KEY, [
    [0, { n: 2, mac: A }],
    [5, { n: 3, mac: B }],
  ]);
  const heads = first.map((byte, index) => byte ^ (second[index] as number));
  assert.deepEqual(anchor, { links: 5, heads });
  assert.deepEqual(anchorMac(KEY, anchor), hmac('anchor\n5\n', heads));
  const times = { firstAt: instant(3), lastAt: instant(4) };
  const segment = { chain: 5, firstN: 1, lastN: 2, ...times, links: 2, events: 9, totals: '{}' };
  const macs = { firstMac: A, lastMac: B, mac: A };
  assert.deepEqual(
    segmentMac(KEY, { ...segment, ...macs }),
    hmac('segment\n5\n1\n2\n3\n4\n2\n9\n', A, '\n', B, '\n{}'),
  );
  const signed = headsText({ links: 5, heads: [[0, 2, 'a1'] as const, [5, 3, 'b2'] as const] });
  assert.equal(signed, 'berth audit heads 1\n5\n0 2 a1\n5 3 b2\n');
});

test('MACs are the same byte for byte', () => {
  assert.equal(isSameMac(A, new Uint8Array(A)), true);
  for (const other of [B, A.subarray(1), null, 'a', undefined]) {
    assert.equal(isSameMac(A, other), false);
    assert.equal(isSameMac(other, A), false);
  }
});

test('an event names its actor, and where they called from', () => {
  const event = { kind: 'slot_returned', user: 'ada' } as const;
  assert.equal(eventText({ ...event, by: 'admin' }), '{"kind":"slot_returned","user":"ada","by":"admin"}');
  assert.equal(
    eventText({ ...event, by: { name: 'app', address: '10.0.0.1' } }),
    '{"kind":"slot_returned","user":"ada","by":"app","origin":"10.0.0.1"}',
  );
});
