import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { DAY_MS, HOUR_MS, MINUTE_MS, plus } from '../../../../src/core/nouns/instant.ts';
import { NameAllowance } from '../../../../src/store/engine/history/name-allowance.ts';
import { LICENSE_ID, NOW } from '../../../core/examples.ts';

const person = (user: string, address: string | null) => ({ user, host: 'h', address });
/** Different places: a network of IPv6 is one. */
const place = (n: number) => `10.${n >> 8}.${n & 255}.1`;

describe('who is named in the history', () => {
  test('five hundred users of a place a day, and everybody who did not come over the network', () => {
    const names = new NameAllowance();
    const admit = (n: number, address: string | null, now = NOW) =>
      names.admit(LICENSE_ID, person(`u${n}`, address), now);
    for (let n = 0; n < 500; n++) assert.equal(admit(n, '10.0.0.1').user, `u${n}`);
    assert.deepEqual(admit(500, '10.0.0.1'), { user: '', others: 1, host: '', address: '10.0.0.1' });
    assert.deepEqual(admit(499, '10.0.0.1'), { user: 'u499', others: 0, host: 'h', address: '10.0.0.1' });
    assert.equal(admit(500, '10.0.0.2').user, 'u500');
    for (let n = 1000; n < 1600; n++) assert.equal(admit(n, null).user, `u${n}`);
    assert.equal(admit(501, '10.0.0.1', plus(NOW, DAY_MS)).user, 'u501', 'on another day');
  });

  test('ten thousand users a day', () => {
    const names = new NameAllowance();
    const admit = (n: number) => names.admit(LICENSE_ID, person(`u${n}`, place(n)), NOW);
    for (let n = 0; n < 10_000; n++) assert.equal(admit(n).others, 0);
    assert.deepEqual(admit(10_000), { user: '', others: 1, host: '', address: '' });
    assert.equal(admit(9_999).others, 0);
  });

  test('five thousand denials of a place and ten thousand of all an hour, each once a minute', () => {
    const names = new NameAllowance();
    const deny = (about: number, address: string, now = NOW) =>
      names.admitDenial(LICENSE_ID, person('ada', address), String(about), now).others;
    for (let n = 0; n < 5000; n++) assert.equal(deny(n, '10.0.0.1'), 0);
    assert.equal(deny(5000, '10.0.0.1'), 1);
    assert.equal(deny(4999, '10.0.0.1'), 0, 'the same again');
    assert.equal(deny(4999, '10.0.0.1', plus(NOW, MINUTE_MS)), 1, 'in another minute');
    for (let n = 0; n < 5000; n++) assert.equal(deny(n, '10.0.0.2'), 0);
    assert.equal(deny(0, '10.0.0.3'), 1);
    assert.equal(deny(0, '10.0.0.1', plus(NOW, HOUR_MS)), 0, 'in another hour');
  });
});
