import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { isDatabaseUrl, showDatabaseUrl } from '../../../src/core/nouns/database-url.ts';

describe('the address of a database', () => {
  const shown: readonly [string, string][] = [
    ['postgres://berth:geheim@db.example:5432/berth', 'postgres://…@db.example:5432/berth'],
    ['postgresql://berth:geheim@db.example/berth?sslmode=require', 'postgresql://…@db.example/berth'],
    ['postgres://db.example/berth?user=berth&password=geheim', 'postgres://db.example/berth'],
    ['postgres://berth:geheim@one:5432,two:5433/berth', 'postgres://…@one:5432,two:5433/berth'],
    ['postgres://berth:geheim@[::1]:5432/berth', 'postgres://…@[::1]:5432/berth'],
    ['postgres:///berth?host=/run/postgresql', 'postgres:///berth'],
    ['postgres://berth:ge%40heim%2F@db', 'postgres://…@db'],
  ];

  for (const [url, expected] of shown) {
    test(`is shown without its secrets: ${url}`, () => {
      assert.ok(isDatabaseUrl(url));
      assert.equal(showDatabaseUrl(url), expected);
    });
  }

  test('is refused if part of the password could be read as something else', () => {
    const bad = [
      'postgres://berth:12/geheim@db/berth',
      'postgres://berth:12?geheim@db/berth',
      'postgres://berth:12#geheim@db/berth',
      'postgres://berth:gehe@im@db/berth',
      'postgres://db/berth?password=gehe@im',
      'mysql://berth:geheim@db/berth',
      'berth:geheim@db',
      '',
    ];
    for (const url of bad) {
      assert.ok(!isDatabaseUrl(url), url);
      assert.doesNotMatch(showDatabaseUrl(url), /geheim|gehe/);
    }
  });
});
