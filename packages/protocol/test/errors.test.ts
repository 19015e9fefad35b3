import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ERROR_CODES, ERRORS, type ErrorEntry } from '../src/errors.ts';

const ENTRIES: [string, ErrorEntry][] = Object.entries(ERRORS);

describe('the table of errors', () => {
  test('has codes in snake_case, each once', () => {
    assert.equal(new Set(ERROR_CODES).size, ERROR_CODES.length);
    for (const code of ERROR_CODES) assert.match(code, /^[a-z]+(?:_[a-z]+)*$/);
  });

  test('has a title for each, all different', () => {
    assert.equal(new Set(ENTRIES.map(([, { title }]) => title)).size, ENTRIES.length);
    for (const [, { title }] of ENTRIES) assert.match(title, /^[A-Z].*[^.]$/);
  });

  test('answers every refusal with 4xx: clients treat 5xx as a broken network', () => {
    const serverFaults = ENTRIES.filter(([, { status }]) => status >= 500).map(([code]) => code);
    const away = ['sign_in', 'directory', 'cloud', 'store'].map((what) => `${what}_unavailable`);
    // 501 answers methods and encodings that no existing client sends.
    assert.deepEqual(serverFaults, ['not_implemented', ...away, 'internal_error']);
    for (const [, { status }] of ENTRIES) assert.ok(status >= 400 && status < 600);
  });

  test('never marks a permanent error as retryable', () => {
    for (const code of ['license_not_active', 'license_not_enabled', 'license_expired'] as const) {
      assert.equal(ERRORS[code].retryable, false);
    }
  });
});
