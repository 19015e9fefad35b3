import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isGuessable } from '../../../src/core/access/guessable-password.ts';
import { isKnownPassword } from '../../../src/services/access/known-passwords.ts';
import { requireGoodPassword } from '../../../src/services/access/passwords.ts';

test('a password that was stolen often is refused, whatever is around it', async () => {
  for (const password of ['contortionist', 'Contortionist1!', '99contortionist', 'sojdlg123aljg']) {
    assert.equal(isGuessable(password, []), false, password);
    assert.equal(await isKnownPassword(password), true, password);
    await assert.rejects(requireGoodPassword(password, 'ada'), /on a list of passwords that were stolen/);
  }
});

test('others are not on the list', async () => {
  for (const password of ['correct horse battery', 'k7q-2mfx-9wjc', '739205816473', 'мой новый пароль тут']) {
    assert.equal(await isKnownPassword(password), false, password);
    await requireGoodPassword(password, 'ada');
  }
});
