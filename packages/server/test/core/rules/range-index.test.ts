import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type AddressRange, formatAddress, isWithin, parseRange } from '@berth/protocol/address-range';
import fc from 'fast-check';
import { indexRanges, isIndexed } from '../../../src/core/rules/range-index.ts';

/** So few addresses that many of them meet. */
const address = fc.oneof(
  fc.tuple(fc.constant(32 as const), fc.bigInt(0x0a000000n, 0x0a00000fn)),
  fc.tuple(fc.constant(128 as const), fc.bigInt(0n, 15n)),
);

const range = fc
  .tuple(address, fc.nat({ max: 6 }))
  .map(([[bits, value], wide]) => parseRange(`${formatAddress({ bits, value })}/${bits - wide}`));

test('an index of ranges agrees with each range', () => {
  fc.assert(
    fc.property(fc.array(range, { maxLength: 6 }), address, (ranges, [bits, value]) => {
      const one = { bits, value };
      const known = ranges as AddressRange[];
      const isInOne = known.some((candidate) => isWithin(one, candidate));
      assert.equal(isIndexed(formatAddress(one), indexRanges(known)), isInOne);
    }),
    { numRuns: 2000 },
  );
});

test('a range may include everything of its kind', () => {
  const index = indexRanges([parseRange('0.0.0.0/0') as AddressRange]);
  assert.equal(isIndexed('203.0.113.9', index), true);
  assert.equal(isIndexed('2001:db8::1', index), false);
  assert.equal(isIndexed('not an address', index), false);
});
