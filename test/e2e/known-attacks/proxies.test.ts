import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { forwardedPeer } from '@berth/web/forwarded';

/** What a penetration test found about headers that pass through a trusted proxy. */

const PROXY = { address: '127.0.0.1', isControl: false };

describe('a Forwarded header that takes quadratic time', () => {
  const read = (forwarded: string) => forwardedPeer(PROXY, { forwarded }, () => false).address;
  // Far longer than a server accepts: an expression that starts over at every blank takes minutes for it.
  const blanks = ' '.repeat(1_000_000);

  test('of blanks before something unexpected is read in one pass', () => {
    assert.equal(read(`for=203.0.113.7${blanks}x`), PROXY.address);
    assert.equal(read(`for="${blanks}"x`), PROXY.address);
  });

  test('of blanks around an address still names the address', () => {
    assert.equal(read(`${blanks}for=203.0.113.7${blanks}`), '203.0.113.7');
  });
});
