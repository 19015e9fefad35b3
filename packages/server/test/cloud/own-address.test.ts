import assert from 'node:assert/strict';
import type { NetworkInterfaceInfo } from 'node:os';
import { test } from 'node:test';
import { findOwnAddress } from '../../src/cloud/own-address.ts';

function card(...addresses: readonly string[]): NetworkInterfaceInfo[] {
  return addresses.map(
    (address) => ({ address, family: address.includes(':') ? 'IPv6' : 'IPv4' }) as NetworkInterfaceInfo,
  );
}

test('the vendor gets an address that others can reach, IPv4 if there is one', () => {
  const lo = card('127.0.0.1', '::1');
  for (const [host, interfaces, expected] of [
    ['127.0.0.1', { lo, eth0: card('fe80::1', '2001:db8::7', '192.0.2.7') }, '192.0.2.7'],
    ['0.0.0.0', { lo, eth0: card('169.254.3.4', '10.0.0.5'), eth1: card('10.1.0.5') }, '10.0.0.5'],
    ['::', { lo, eth0: card('fe80::1', '2001:db8::7') }, '2001:db8::7'],
    ['10.1.0.5', { lo, eth0: card('10.0.0.5'), eth1: card('10.1.0.5') }, '10.1.0.5'],
    ['localhost', { lo, none: undefined }, null],
  ] as const) {
    assert.equal(findOwnAddress(host, interfaces), expected, host);
  }
});
