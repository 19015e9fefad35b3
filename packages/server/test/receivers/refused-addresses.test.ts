import assert from 'node:assert/strict';
import { isIP } from 'node:net';
import { test } from 'node:test';
import { refuseAddresses } from '../../src/receivers/refused-addresses.ts';

const NEVER = [
  '169.254.169.254',
  '::ffff:169.254.169.254',
  '::ffff:a9fe:a9fe',
  '64:ff9b::a9fe:a9fe',
  'fe80::1',
  'febf::1',
  'fd00:ec2::254',
  'fd20:ce::254',
  '100.100.100.200',
  '168.63.129.16',
];
const PRIVATE = [
  '127.0.0.1',
  '127.9.9.9',
  '0.0.0.0',
  '::1',
  '::',
  '::ffff:127.0.0.1',
  '10.1.2.3',
  '172.31.0.1',
  '192.168.1.1',
  '::ffff:192.168.1.1',
  '100.64.0.1',
  'fd12::1',
];
const PUBLIC = ['192.0.2.1', '172.32.0.1', '169.253.0.1', '2001:db8::1', 'fec0::1', '::ffff:192.0.2.1'];

function pick(addresses: readonly string[], privateAddresses: boolean): readonly string[] {
  const refused = refuseAddresses({ privateAddresses });
  return addresses.filter((address) => refused.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4'));
}

test('link-local addresses are always refused, private ones by the setting, others never', () => {
  const all = [...NEVER, ...PRIVATE, ...PUBLIC];
  assert.deepEqual(pick(all, true), NEVER);
  assert.deepEqual(pick(all, false), [...NEVER, ...PRIVATE]);
});
