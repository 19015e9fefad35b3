import assert from 'node:assert/strict';
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { describe, test } from 'node:test';
import { type AddressRange, parseRange } from '@berth/protocol/address-range';
import { createClientPlaces } from './client-places.ts';

function placeOf(remoteAddress: string, forwarded: string | undefined, ...proxies: string[]): string {
  const places = createClientPlaces(proxies.map((text) => parseRange(text) as AddressRange));
  const headers = forwarded === undefined ? {} : { 'x-forwarded-for': forwarded };
  return places.ofRequest({ socket: { remoteAddress }, headers } as unknown as IncomingMessage);
}

describe('the place of a request', () => {
  for (const [peer, forwarded, place, why] of [
    ['192.0.2.1', undefined, '192.0.2.1', 'the peer'],
    ['::ffff:192.0.2.1', undefined, '192.0.2.1', 'however it is written'],
    ['2001:db8:1:2:3:4:5:6', undefined, '2001:db8:1:2::', 'a network of IPv6'],
    ['fe80::1%eth0', undefined, 'fe80::', 'without the name of an interface'],
    ['192.0.2.1', '198.51.100.7', '192.0.2.1', 'whatever a header says'],
    ['10.0.0.1', '198.51.100.7', '198.51.100.7', 'whom the proxy names'],
    ['10.0.0.1', '203.0.113.9, 198.51.100.7', '198.51.100.7', 'whom the proxy names, not its client'],
    ['10.0.0.1', '198.51.100.7,10.0.0.2', '198.51.100.7', 'through two proxies'],
    ['10.0.0.1', '198.51.100.7:4711', '198.51.100.7', 'with a port'],
    ['10.0.0.1', '[2001:db8::1]:4711', '2001:db8::', 'with a port, of IPv6'],
    ['10.0.0.1', 'unknown', '10.0.0.1', 'the proxy itself where it names nobody'],
    ['10.0.0.1', '198.51.100.7, unknown', '10.0.0.1', 'and nobody whom only the client named'],
    ['10.0.0.1', undefined, '10.0.0.1', 'the proxy itself'],
    ['', undefined, '', 'a connection that is gone'],
  ] as const) {
    test(`${peer} ${forwarded}: ${why}`, () => {
      assert.equal(placeOf(peer, forwarded, '10.0.0.0/24'), place);
    });
  }

  test('connections of a proxy do not count', () => {
    const places = createClientPlaces([parseRange('10.0.0.1') as AddressRange]);
    const of = (remoteAddress: string) => places.ofSocket({ remoteAddress } as Socket);
    assert.deepEqual([of('10.0.0.1'), of('10.0.0.2')], [null, '10.0.0.2']);
  });
});
