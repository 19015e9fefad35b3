import assert from 'node:assert/strict';
import { test } from 'node:test';
import { describeReach } from '../../src/words/reach.ts';

test('an address of this machine is not offered to others', () => {
  const only = describeReach('127.0.0.1', 'http://127.0.0.1:8080');
  assert.equal(only.where, 'on this machine');
  assert.match(only.elsewhere ?? '', /^The server listens on this machine only\. .* --host 0\.0\.0\.0 /);
  for (const hostname of ['localhost', '[::1]']) {
    const { where, elsewhere } = describeReach(hostname, 'http://0.0.0.0:8080');
    assert.equal(where, 'on this machine');
    assert.match(elsewhere ?? '', /^On other machines, write the name or the address of this machine/);
  }
  const far = describeReach('licenses.example', 'http://0.0.0.0:8080');
  assert.deepEqual(far, { where: 'from any machine that reaches this server', elsewhere: null });
});
