import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Pseudonyms } from '../../../src/services/support/pseudonyms.ts';

function learned(value: unknown): Pseudonyms {
  const pseudonyms = new Pseudonyms();
  pseudonyms.learn(value);
  return pseudonyms;
}

test('names are replaced where their field says so, and wherever they stand as words', () => {
  const value = {
    user: 'al',
    by: 'token ci',
    origin: '192.0.2.7',
    'http.allowedHosts': ['srv.example', 'localhost'],
    subject: 'CN=vm.example, O=Acme',
    kind: 'al',
    text: 'al took it from ALSO, al-x, "al" and total; ci did it on srv.example for Acme.',
    events: [{ user: 'al', account: 'admin', hostname: 'pc', os_hostname: 'lab' }],
    bars: [
      { pattern: 'mia.*', note: 'Mia left in May' },
      { pattern: 'al', note: null },
      { pattern: '10.1.0.0/16', note: 'annex' },
    ],
  };
  assert.deepEqual(learned(value).hide(value), {
    user: 'user_1',
    by: 'token user_2',
    origin: 'address_1',
    'http.allowedHosts': ['host_1', 'localhost'],
    subject: 'CN=host_2, O=host_3',
    kind: 'al',
    text: 'user_1 took it from ALSO, user_1-x, "user_1" and total; user_2 did it on host_1 for host_3.',
    events: [{ user: 'user_1', account: 'admin', hostname: 'host_4', os_hostname: 'host_5' }],
    bars: [
      { pattern: 'name_1', note: 'name_2' },
      { pattern: 'user_1', note: null },
      { pattern: 'name_3', note: 'name_4' },
    ],
  });
});

test('hosts, addresses, mail and home folders are known by their form', () => {
  const pseudonyms = new Pseudonyms();
  for (const [text, expected] of [
    ['https://cloud.example:8443/api?x=1', 'https://host_1:8443/api?x=1'],
    ['postgres://…@db.example/berth', 'postgres://…@host_2/berth'],
    [
      'http://[2001:db8::1]:80/ and 10.1.2.3:5432, 10.0.0.0/8.',
      'http://[address_1]:80/ and address_2:5432, address_3/8.',
    ],
    ['http://127.0.0.1:8080 and ::1', 'http://127.0.0.1:8080 and ::1'],
    ['at 2030-01-15T12:34:56.789Z, AA:BB:CC, 1.2.3', 'at 2030-01-15T12:34:56.789Z, AA:BB:CC, 1.2.3'],
    ['mail bob@acme.example.', 'mail user_1'],
    ['/home/carol/berth and C:\\Users\\carol\\x', '/home/user_2/berth and C:\\Users\\user_2\\x'],
    ['carol and cloud.example', 'user_2 and host_1'],
  ] as const) {
    assert.equal(pseudonyms.hideIn(text), expected);
  }
});
