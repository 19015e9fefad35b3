import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { borrowRequest, licenseQuery, registerRequest, unregisterRequest } from '../../src/api/lending.ts';

describe('lending requests', () => {
  test('may be empty', () => {
    for (const schema of [registerRequest, borrowRequest, unregisterRequest, licenseQuery]) {
      assert.deepEqual(schema.parse({}), {});
    }
  });

  test('drop what they do not know, as older servers did', () => {
    assert.deepEqual(registerRequest.parse({ user: 'ada', hardware_id: 'x', license_id: '7' }), {
      user: 'ada',
      license_id: 7,
    });
  });

  test('take any text for the date of a borrow: the license decides about it', () => {
    for (const text of ['2030-01-01', 'soon', '']) {
      assert.equal(borrowRequest.parse({ borrowed_until: text }).borrowed_until, text);
    }
    assert.equal(borrowRequest.parse({ borrowed_until: null }).borrowed_until, null);
    assert.equal(borrowRequest.parse({ borrowed_until: 5 }).borrowed_until, 'not a date');
  });
});
