import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { licenseId } from '../../../src/core/nouns/license.ts';
import { LicenseLocks } from '../../../src/services/lending/license-locks.ts';

const [ONE, TWO] = [licenseId(1), licenseId(2)];

describe('work on a license', () => {
  test('waits for work on the same license, and not for work on others', async () => {
    const locks = new LicenseLocks();
    const told: string[] = [];
    const gate = Promise.withResolvers<void>();
    const first = locks.withLock(ONE, async () => {
      await gate.promise;
      told.push('first');
    });
    const second = locks.withLock(ONE, async () => told.push('second'));
    await locks.withLock(TWO, async () => told.push('other'));
    gate.resolve();
    await Promise.all([first, second]);
    assert.deepEqual(told, ['other', 'first', 'second']);
  });

  test('that fails does not block the next', async () => {
    const locks = new LicenseLocks();
    const failing = locks.withLock(ONE, () => Promise.reject(new Error('no')));
    const next = locks.withLock(ONE, async () => 'done');
    await assert.rejects(failing, /no/);
    assert.equal(await next, 'done');
  });
});
