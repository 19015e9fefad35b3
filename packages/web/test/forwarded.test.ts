import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { isWithin, parseRange } from '@berth/protocol/address-range';
import { type ForwardingHeaders, forwardedPeer } from '../src/forwarded.ts';

const RANGES = ['10.0.0.0/8', 'fd00::/8'].map(
  (text) => parseRange(text) as NonNullable<ReturnType<typeof parseRange>>,
);

const PROXY = { address: '10.0.0.1', isControl: false, isSecure: true, certificate: 'the proxy' };

function read(headers: ForwardingHeaders) {
  return forwardedPeer(PROXY, headers, (address) => RANGES.some((range) => isWithin(address, range)));
}

function clientOf(forwardedFor: string): string {
  return read({ 'x-forwarded-for': forwardedFor }).address;
}

describe('X-Forwarded-For', () => {
  test('names the client, in every notation of an address', () => {
    assert.equal(clientOf('203.0.113.7'), '203.0.113.7');
    assert.equal(clientOf(' 203.0.113.7 '), '203.0.113.7');
    assert.equal(clientOf('203.0.113.7:4711'), '203.0.113.7');
    assert.equal(clientOf('2001:DB8::0:7'), '2001:db8::7');
    assert.equal(clientOf('[2001:db8::7]'), '2001:db8::7');
    assert.equal(clientOf('[2001:db8::7]:4711'), '2001:db8::7');
    assert.equal(clientOf('::ffff:203.0.113.7'), '203.0.113.7');
  });

  test('is trusted from its end up to the first that is not a proxy', () => {
    assert.equal(clientOf('127.0.0.1, 203.0.113.7'), '203.0.113.7');
    assert.equal(clientOf('127.0.0.1, 203.0.113.7, 10.9.9.9, fd00::5'), '203.0.113.7');
    assert.equal(clientOf('nonsense, 203.0.113.7, 10.9.9.9'), '203.0.113.7');
  });

  test('of proxies only comes from the first of them', () => {
    assert.equal(clientOf('10.0.0.7, 10.0.0.8'), '10.0.0.7');
  });

  test('with garbage in place of the client leaves the proxy', () => {
    const nonsense = ['unknown', '', ',', '203.0.113.7,', '203.0.113.7, x', '203.0.113.7, _hidden, 10.0.0.2'];
    const more = ['203.0.113.7:99999999', '[203.0.113.7]', '[2001:db8::7', '2001:db8::7]:80', 'fe80::1%eth0'];
    for (const text of [...nonsense, ...more, '"203.0.113.7"', '203.0.113.7 10.0.0.2']) {
      assert.equal(clientOf(text), PROXY.address, text);
    }
  });
});

describe('Forwarded', () => {
  const forwarded = (text: string) => read({ forwarded: text });

  test('names the client and its protocol', () => {
    const one = forwarded('for=203.0.113.7;proto=https;by=10.0.0.1');
    assert.deepEqual([one.address, one.isSecure], ['203.0.113.7', true]);
    const two = forwarded('By=x; Proto=HTTP; For="[2001:db8::7]:4711"');
    assert.deepEqual([two.address, two.isSecure], ['2001:db8::7', false]);
    assert.equal(forwarded('for="203.0.113.7:80"').address, '203.0.113.7');
  });

  test('of a chain counts where the first proxy met the client', () => {
    const chain = 'for=127.0.0.1;proto=http, for=203.0.113.7;proto=https, for=10.0.0.2;proto=http';
    const { address, isSecure } = forwarded(chain);
    assert.deepEqual([address, isSecure], ['203.0.113.7', true]);
  });

  test('with something hidden or injected leaves the proxy', () => {
    for (const text of ['for=unknown', 'for=_hidden', 'proto=https', 'for', 'for=', ';;;', 'for="']) {
      assert.equal(forwarded(text).address, PROXY.address, text);
    }
    assert.equal(forwarded('for=203.0.113.7;host=x;for=127.0.0.1').address, PROXY.address);
    assert.equal(forwarded('for="127.0.0.1, for=203.0.113.7').address, '203.0.113.7');
  });

  test('is ignored beside X-Forwarded-For, whose proxy did not write it', () => {
    const headers = { 'x-forwarded-for': '203.0.113.7', forwarded: 'for=127.0.0.1;proto=https' };
    const { address, isSecure } = read(headers);
    assert.deepEqual([address, isSecure], ['203.0.113.7', false]);
  });
});

describe('what is forwarded', () => {
  const isSecure = (proto: string) =>
    read({ 'x-forwarded-for': '203.0.113.7', 'x-forwarded-proto': proto }).isSecure;

  test('is secure when the client came over TLS to every proxy that says so', () => {
    assert.equal(isSecure('https'), true);
    assert.equal(isSecure('HTTPS'), true);
    assert.equal(isSecure('http'), false);
    assert.equal(isSecure('https, http'), false);
    assert.equal(isSecure('wss'), false);
    assert.equal(read({ 'x-forwarded-for': '203.0.113.7' }).isSecure, false);
    assert.equal(read({ 'x-forwarded-proto': 'https' }).isSecure, true);
  });

  test("does not have the proxy's certificate", () => {
    assert.equal(read({ 'x-forwarded-for': '203.0.113.7' }).certificate, null);
    assert.equal(read({ 'x-forwarded-proto': 'https' }).certificate, null);
  });

  test('a request of the proxy itself is not forwarded', () => {
    assert.deepEqual(read({ host: 'x' }), PROXY);
  });
});
