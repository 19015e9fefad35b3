import assert from 'node:assert/strict';
import type { AskRows } from './rows.ts';

const NFC = 'jos\u00e9';
const NFD = 'jose\u0301';

/**
 * Users as an earlier release stored them: as they were sent. Two of them have become one, a third has outer
 * blanks, and a fourth has a name that is no longer allowed.
 */
export const OLD_NAMES = [
  ...[
    `7, '${NFD}', 'late', 20, 900, NULL`,
    `7, '${NFC}', 'early', 10, 500, 500`,
    `7, ' ada ', NULL, 10, 500, NULL`,
    `7, 'a\u202eb', NULL, 10, 500, NULL`,
    `8, '${NFD}', NULL, 10, 500, NULL`,
  ].map(
    (values) => `INSERT INTO registration
      (license_id, "user", hostname, registered_at, ends_at, borrowed_until) VALUES (${values})`,
  ),
  ...[
    `7, '${NFD}', 'render', 20, 900`,
    `7, '${NFC}', 'render', 10, 500`,
    `7, '${NFD}', 'export', 20, 900`,
  ].map(
    (values) =>
      `INSERT INTO feature_slot (license_id, "user", feature, registered_at, ends_at) VALUES (${values})`,
  ),
  ...[`'${NFD}', 5, 3`, `'${NFC}', 9, 4`].map(
    (values) => `INSERT INTO denial (license_id, feature, code, "user", denied_at, repeated)
      VALUES (7, '', 'floating_not_available', ${values})`,
  ),
  ...[`'${NFD}', 'k', 'first', 5`, `'${NFC}', 'k', 'second', 9`, `'${NFD}', 'other', 'third', 5`].map(
    (values) => `INSERT INTO remembered_answer
      (license_id, operation, outcome, "user", key, body_hash, answered_at)
      VALUES (7, 'add_consumption', '{}', ${values})`,
  ),
];

/** Checks what became of them. */
export async function expectNewNames(ask: AskRows): Promise<void> {
  const slots = await ask(
    `SELECT license_id, "user", hostname, registered_at, ends_at, borrowed_until FROM registration
     WHERE ends_at > registered_at ORDER BY license_id, "user"`,
  );
  assert.deepEqual(
    slots.map((row) => Object.values(row)),
    [
      [7, 'ada', null, 10, 500, null],
      [7, 'a\u202eb', null, 10, 500, null],
      [7, NFC, 'late', 10, 900, 500],
      [8, NFC, null, 10, 500, null],
    ],
  );
  const ended = await ask('SELECT "user" FROM registration WHERE ends_at <= registered_at');
  assert.deepEqual(
    ended.map(({ user }) => user),
    [NFD],
    'the other slot is left to be collected',
  );
  const features = await ask(
    'SELECT "user", feature, ends_at FROM feature_slot WHERE ends_at > registered_at ORDER BY feature',
  );
  assert.deepEqual(
    features.map((row) => Object.values(row)),
    [
      [NFC, 'export', 900],
      [NFC, 'render', 900],
    ],
  );
  const denials = await ask('SELECT "user", denied_at, repeated FROM denial');
  assert.deepEqual(
    denials.map((row) => Object.values(row)),
    [[NFC, 9, 7]],
  );
  const answers = await ask('SELECT "user", key, body_hash FROM remembered_answer ORDER BY key');
  assert.deepEqual(
    answers.map((row) => Object.values(row)),
    [
      [NFC, 'k', 'second'],
      [NFC, 'other', 'third'],
    ],
  );
}
