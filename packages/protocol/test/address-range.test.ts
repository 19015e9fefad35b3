import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  type Address,
  type AddressRange,
  addressFromKey,
  addressKey,
  formatAddress,
  isWithin,
  networksOf,
  parseAddress,
  parseRange,
  placeOf,
  placeRange,
  rangeKeys,
} from '../src/address-range.ts';

function address(text: string): Address {
  const parsed = parseAddress(text);
  assert.ok(parsed !== null, text);
  return parsed;
}

/** As the address is written when it is shown. */
function rewritten(text: string): string {
  return formatAddress(address(text));
}

function within(text: string, range: string): boolean {
  const parsed = parseRange(range);
  assert.ok(parsed !== null, range);
  return isWithin(address(text), parsed);
}

describe('an address', () => {
  test('is read in every notation, and written in one', () => {
    const ways: readonly (readonly [string, string])[] = [
      ['0.0.0.0', '0.0.0.0'],
      ['192.168.0.255', '192.168.0.255'],
      ['::', '::'],
      ['::1', '::1'],
      ['0:0:0:0:0:0:0:1', '::1'],
      ['2001:DB8::', '2001:db8::'],
      ['2001:0db8:0000:0000:0001:0000:0000:0000', '2001:db8:0:0:1::'],
      ['2001:db8:0:1:1:1:1:1', '2001:db8:0:1:1:1:1:1'],
      ['2001:db8::1:0:0:1', '2001:db8::1:0:0:1'],
      ['1:2:3:4:5:6:7::', '1:2:3:4:5:6:7:0'],
      ['::2:3:4:5:6:7:8', '0:2:3:4:5:6:7:8'],
      ['64:ff9b::192.0.2.33', '64:ff9b::c000:221'],
      ['ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff', 'ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff'],
    ];
    for (const [given, shown] of ways) assert.equal(rewritten(given), shown, given);
  });

  test('of IPv4 that is written as IPv6 is the IPv4 address', () => {
    for (const text of ['::ffff:10.1.2.3', '::FFFF:a01:203', '0:0:0:0:0:ffff:10.1.2.3']) {
      assert.deepEqual(parseAddress(text), parseAddress('10.1.2.3'), text);
      assert.equal(rewritten(text), '10.1.2.3');
    }
    // Near, but another thing.
    assert.equal(rewritten('::10.1.2.3'), '::a01:203');
    assert.equal(rewritten('::1:ffff:a01:203'), '::1:ffff:a01:203');
  });

  test('is not read from anything else', () => {
    const wrong = [
      '',
      ' ',
      'localhost',
      '1',
      '1.2.3',
      '1.2.3.4.5',
      '1.2.3.256',
      '1.2.3.-4',
      '1.2.3.04',
      '0x7f.0.0.1',
      ' 1.2.3.4',
      '1.2.3.4\n',
      '1.2.3.4:80',
      '1.2.3.4/32',
      ':',
      ':::',
      '::1::',
      ':1:2:3:4:5:6:7',
      '1:2:3:4:5:6:7:',
      '1:2:3:4:5:6:7',
      '1:2:3:4:5:6:7:8:9',
      '1:2:3:4::5:6:7:8',
      '12345::',
      'g::',
      '[::1]',
      'fe80::1%eth0',
      '::ffff:1.2.3',
      '::ffff:1.2.3.04',
      '1.2.3.4::',
      '::1.2.3.4:5',
      `${'0'.repeat(60)}::1`,
    ];
    for (const text of wrong) assert.equal(parseAddress(text), null, JSON.stringify(text));
  });
});

describe('a range', () => {
  test('contains addresses that begin with the same bits', () => {
    assert.ok(within('10.255.0.1', '10.0.0.0/8'));
    assert.ok(!within('11.0.0.0', '10.0.0.0/8'));
    assert.ok(within('10.0.0.127', '10.0.0.0/25'));
    assert.ok(!within('10.0.0.128', '10.0.0.0/25'));
    assert.ok(within('2001:db8:ffff::1', '2001:db8::/32'));
    assert.ok(!within('2001:db9::', '2001:db8::/32'));
    assert.ok(within('2001:db8:0:0:7fff::', '2001:db8::/65'));
    assert.ok(!within('2001:db8:0:0:8000::', '2001:db8::/65'));
  });

  test('without a slash, or with all bits, contains one address', () => {
    for (const range of ['10.0.0.1', '10.0.0.1/32']) {
      assert.ok(within('10.0.0.1', range));
      assert.ok(!within('10.0.0.0', range) && !within('10.0.0.2', range));
    }
    for (const range of ['::1', '::1/128']) {
      assert.ok(within('::1', range));
      assert.ok(!within('::', range) && !within('::2', range));
    }
  });

  test('of no bits contains all addresses of its kind', () => {
    for (const text of ['0.0.0.0', '127.0.0.1', '255.255.255.255', '::ffff:9.9.9.9']) {
      assert.ok(within(text, '0.0.0.0/0'), text);
      assert.ok(!within(text, '::/0'), text);
    }
    assert.ok(within('::1', '::/0') && !within('::1', '0.0.0.0/0'));
  });

  test('may begin in its middle', () => {
    assert.deepEqual(parseRange('10.1.2.3/8'), parseRange('10.0.0.0/8'));
    assert.deepEqual(parseRange('2001:db8::5/32'), parseRange('2001:db8::/32'));
  });

  test('of mapped addresses is one of IPv4', () => {
    assert.deepEqual(parseRange('::ffff:10.0.0.0/104'), parseRange('10.0.0.0/8'));
    assert.deepEqual(parseRange('::ffff:0:0/96'), parseRange('0.0.0.0/0'));
    assert.equal(parseRange('::ffff:10.0.0.0/95'), null);
  });

  test('is not read from anything else', () => {
    const wrong = ['', '/', '/8', '10.0.0.0/', '10.0.0.0/33', '10.0.0.0/-1', '10.0.0.0/08', '10.0.0.0/8/8'];
    const more = ['10.0.0.0/1e1', '10.0.0.0/ 8', '10/8', '::/129', '::/1000', 'fe80::%1/64', 'example.com/8'];
    for (const text of [...wrong, ...more]) assert.equal(parseRange(text), null, JSON.stringify(text));
  });
});

test('one place is an address of IPv4 and a network of IPv6', () => {
  assert.equal(placeOf('203.0.113.9'), '203.0.113.9');
  assert.equal(placeOf('2001:db8:1:2:3:4:5:6'), placeOf('2001:db8:1:2::1'));
  assert.notEqual(placeOf('2001:db8:1:2::1'), placeOf('2001:db8:1:3::1'));
  assert.equal(placeOf('::ffff:203.0.113.9'), '::ffff:203.0.113.9');
  assert.equal(placeOf('control'), 'control');
});

test('an address is in networks, from the widest to its place', () => {
  assert.deepEqual(networksOf('10.1.2.3'), ['10.1.0.0/16', '10.1.2.0/24', '10.1.2.3/32']);
  assert.deepEqual(networksOf('::ffff:10.1.2.3'), networksOf('10.1.2.3'));
  const wide = ['2001:db8::/32', '2001:db8:1::/48', '2001:db8:1:2::/64'];
  assert.deepEqual(networksOf('2001:db8:1:2:3:4:5:6'), wide);
  assert.deepEqual(networksOf('control'), ['control']);
});

test('all addresses of one place are the same range', () => {
  assert.deepEqual(placeRange('203.0.113.9'), parseRange('203.0.113.9/32'));
  for (const text of ['2001:db8:1:2::', '2001:db8:1:2::1', '2001:db8:1:2:ffff::']) {
    assert.deepEqual(placeRange(text), parseRange('2001:db8:1:2::/64'), text);
  }
  assert.equal(placeRange('control'), null);
});

describe('the key of an address', () => {
  const keyOf = (text: string) => addressKey(parseAddress(text) as Address);

  test('converts to an address and back', () => {
    for (const text of ['0.0.0.0', '10.0.0.9', '255.255.255.255', '::', '::1', '2001:db8::1', 'ffff::']) {
      assert.equal(formatAddress(addressFromKey(keyOf(text))), text);
    }
    assert.equal(keyOf('::ffff:10.0.0.9'), keyOf('10.0.0.9'));
  });

  test('lies between the keys of the ends of its ranges, and of no others', () => {
    const addresses = [
      '9.255.255.255',
      '10.0.0.0',
      '10.9.8.7',
      '10.255.255.255',
      '11.0.0.0',
      '::',
      '::1',
      'a::',
    ];
    for (const range of ['10.0.0.0/8', '10.9.0.0/16', '0.0.0.0/0', '::/0', '::/127', '10.9.8.7']) {
      const { first, last } = rangeKeys(parseRange(range) as AddressRange);
      for (const text of addresses) {
        const isBetween = first <= keyOf(text) && keyOf(text) <= last;
        assert.equal(
          isBetween,
          isWithin(parseAddress(text) as Address, parseRange(range) as AddressRange),
          text,
        );
      }
    }
  });
});
