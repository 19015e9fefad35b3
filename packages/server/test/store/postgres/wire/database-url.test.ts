import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  describeTarget,
  type Encryption,
  parseDatabaseUrl,
  parseDatabaseUrls,
} from '../../../../src/store/postgres/wire/database-url.ts';

const PLAIN: Encryption = { kind: 'off' };

function always(proof: string, authorities: string | null = null) {
  return { kind: 'always', proof, authorities };
}

describe('a database URL', () => {
  test('is read as other programs read it', () => {
    assert.deepEqual(parseDatabaseUrl('postgresql://ber%40th:p%2Fw@localhost:6432/my%20db'), {
      host: 'localhost',
      port: 6432,
      user: 'ber@th',
      password: 'p/w',
      database: 'my db',
      encryption: PLAIN,
      startup: { application_name: 'berth' },
    });
    const { host, port, password } = parseDatabaseUrl('postgres://berth@[2001:db8::1]/berth');
    assert.deepEqual([host, port, password], ['2001:db8::1', 5432, null]);
  });

  test('may name several hosts, each with its own port and proof of who it is', () => {
    const parameters = 'sslrootcert=ca.pem&target_session_attrs=read-write';
    const url = `postgres://b%2Certh:p%2Fw@db1,[2001:db8::1]:6432,%2Frun%2Fpg:5433/my%20db?${parameters}`;
    const targets = parseDatabaseUrls(url);
    assert.deepEqual(targets.map(describeTarget), [
      'postgres://b%2Certh@db1:5432/my%20db',
      'postgres://b%2Certh@[2001:db8::1]:6432/my%20db',
      'postgres://b%2Certh@%2Frun%2Fpg:5433/my%20db',
    ]);
    assert.ok(targets.every(({ password }) => password === 'p/w'));
    const local = parseDatabaseUrls('postgres://u@127.0.0.1,db/d?target_session_attrs=primary');
    assert.deepEqual(
      local.map(({ encryption }) => encryption),
      [PLAIN, always('none')],
    );
  });

  test('may name the folder of a socket', () => {
    const { host, encryption } = parseDatabaseUrl('postgres://u@%2Frun%2Fpg/d');
    assert.deepEqual([host, encryption], ['/run/pg', PLAIN]);
  });

  test('sets what the session starts with', () => {
    const { startup } = parseDatabaseUrl('postgres://u@h/d?application_name=a&options=-c%20search_path%3Dx');
    assert.deepEqual(startup, { application_name: 'a', options: '-c search_path=x' });
  });

  for (const [what, text, message] of [
    ['another scheme', 'mysql://u:secret@h/d', /cannot be read/],
    ['no URL', 'u:secret@h', /cannot be read/],
    ['an empty host', 'postgres://u:secret@a:1,,b:2/d', /cannot be read|names no host/],
    [
      'a standby',
      'postgres://u:secret@a,b/d?target_session_attrs=standby',
      /=standby, but Berth has to write/,
    ],
    ['an invalid percent code', 'postgres://u:secret%zz@h/d', /Write %25/],
    ['no host', 'postgres://u:secret@/d', /cannot be read|names no host/],
    ['no user', 'postgres://h/d', /names no user/],
    ['no database', 'postgres://u:secret@h', /names no database/],
    ['an unknown parameter', 'postgres://u:secret@h/d?sslcert=x', /'sslcert', which Berth does not know/],
    ['a repeated parameter', 'postgres://u:secret@h/d?sslmode=require&sslmode=disable', /'sslmode' twice/],
    ['an unknown mode', 'postgres://u:secret@h/d?sslmode=allow', /sslmode=allow, which Berth does not know/],
    ['a useless authority', 'postgres://u:secret@h/d?sslmode=prefer&sslrootcert=x', /without effect/],
  ] as const) {
    test(`is refused with ${what}, and its password is not shown`, () => {
      assert.throws(
        () => parseDatabaseUrls(text),
        (error: Error) => {
          assert.match(error.message, message);
          assert.doesNotMatch(error.message, /secret/);
          return true;
        },
      );
    });
  }

  test('is described without its password', () => {
    const url = 'postgres://ada:secret@[::1]:6432/d?sslmode=require';
    assert.equal(describeTarget(parseDatabaseUrl(url)), 'postgres://ada@[::1]:6432/d');
    const socket = parseDatabaseUrl('postgres://ada:secret@%2Frun/d');
    assert.equal(describeTarget(socket), 'postgres://ada@%2Frun:5432/d');
  });
});

describe('encryption', () => {
  for (const [url, expected] of [
    ['postgres://u@127.0.0.1/d', PLAIN],
    ['postgres://u@[::1]/d', PLAIN],
    ['postgres://u@db/d', always('none')],
    ['postgres://u@127.example/d', always('none')],
    ['postgres://u@db/d?sslrootcert=ca.pem', always('certificate_and_name', 'ca.pem')],
    ['postgres://u@db/d?sslmode=disable', PLAIN],
    ['postgres://u@db/d?sslmode=prefer', { kind: 'if_offered' }],
    ['postgres://u@localhost/d?sslmode=require', always('none')],
    ['postgres://u@db/d?sslmode=require&sslrootcert=ca.pem', always('certificate', 'ca.pem')],
    ['postgres://u@db/d?sslmode=verify-ca', always('certificate')],
    ['postgres://u@db/d?sslmode=verify-ca&sslrootcert=system', always('certificate_and_name')],
    ['postgres://u@db/d?sslmode=verify-full', always('certificate_and_name')],
    ['postgres://u@db/d?sslmode=verify-full&sslrootcert=/ca.pem', always('certificate_and_name', '/ca.pem')],
  ] as const) {
    test(`of ${url}`, () => assert.deepEqual(parseDatabaseUrl(url).encryption, expected));
  }
});
