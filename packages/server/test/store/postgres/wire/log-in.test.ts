import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { parseDatabaseUrl } from '../../../../src/store/postgres/wire/database-url.ts';
import { answerChallenge, Login } from '../../../../src/store/postgres/wire/log-in.ts';
import type { Message } from '../../../../src/store/postgres/wire/message-reader.ts';

/** What the database says about a login. */
function message(kind: number, text = ''): Message {
  const bytes = Buffer.concat([Buffer.of(0, 0, 0, kind), Buffer.from(text)]);
  return { type: 'R', bytes, at: 0, end: bytes.length };
}

function open(password = 'pencil'): Login {
  return new Login(parseDatabaseUrl(`postgres://user:${password}@127.0.0.1/d`));
}

const MECHANISMS = 'SCRAM-SHA-256-PLUS\0SCRAM-SHA-256\0\0';
const SALT = 's=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096';

/** Begins, and returns our nonce. */
function begin(login: Login): string {
  const first = login.answer(message(10, MECHANISMS)) ?? '';
  assert.match(first, /^SCRAM-SHA-256\0\0\0\0 n,,n=,r=[\w+/]{24}$/);
  return first.slice(-24);
}

describe('SCRAM', () => {
  test('proves the password as in RFC 7677', () => {
    const [ours, theirs] = ['rOprNGfwEbeRWgbNEkqO', '%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0'];
    const challenge = `r=${ours}${theirs},${SALT}`;
    const { final, signature } = answerChallenge('pencil', `n=user,r=${ours}`, challenge);
    assert.equal(final, `c=biws,r=${ours}${theirs},p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=`);
    assert.equal(signature.toString('base64'), '6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=');
  });

  test('lets the database in only after its own proof', () => {
    const login = open();
    const nonce = begin(login);
    assert.throws(() => login.answer(message(0)), /could not prove/);
    const challenge = `r=${nonce}more,${SALT}`;
    login.answer(message(11, challenge));
    for (const wrong of ['', 'v=', 'v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4='])
      assert.throws(() => login.answer(message(12, wrong)), /could not prove/);
    const { signature } = answerChallenge('pencil', `n=,r=${nonce}`, challenge);
    assert.equal(login.answer(message(12, `v=${signature.toString('base64')}`)), null);
    assert.equal(login.answer(message(0)), null);
  });

  test('refuses a challenge that is not an answer to ours, or costs too much', () => {
    const login = open();
    const nonce = begin(login);
    const salt = 's=W22ZaJ0SNY7soEsUEjb6gQ==';
    for (const wrong of [`r=x${nonce},${SALT}`, `r=${nonce},${salt},i=2000000`, `r=${nonce},${salt}`, ''])
      assert.throws(() => login.answer(message(11, wrong)), /could not prove/);
  });
});

test('a kind of login that we do not know is refused', () => {
  for (const unknown of [message(7), message(10, 'OTHER\0\0')])
    assert.throws(() => open().answer(unknown), /does not support/);
});
