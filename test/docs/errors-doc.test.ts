import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { ERRORS } from '@berth/protocol/errors';

const PAGE = new URL('../../docs/errors.md', import.meta.url);

interface Row {
  readonly code: string;
  readonly status: number;
  readonly retry: string;
  readonly meaning: string;
}

/** The rows of the table: those whose first cell is a code in backticks. */
function readRows(): Row[] {
  const rows = readFileSync(PAGE, 'utf8').matchAll(
    /^\|\s*`([a-z_]+)`\s*\|\s*(\d+)\s*\|([^|]*)\|(.*)\|\s*$/gm,
  );
  return Array.from(rows, ([, code = '', status, retry = '', meaning = '']) => ({
    code,
    status: Number(status),
    retry: retry.trim(),
    meaning: meaning.trim(),
  }));
}

describe('docs/errors.md', () => {
  test('has every code of the registry with its status, in its order of precedence', () => {
    assert.deepEqual(
      readRows().map(({ code, status }) => [code, status]),
      Object.entries(ERRORS).map(([code, { status }]) => [code, status]),
    );
  });

  test('says of every code whether to retry, and what it means', () => {
    const rows = readRows();
    assert.equal(rows.length, Object.keys(ERRORS).length);
    for (const { code, retry, meaning } of rows) {
      const { retryable } = ERRORS[code as keyof typeof ERRORS];
      assert.equal(retry.startsWith('yes'), retryable, code);
      assert.ok(meaning.length > 0, code);
    }
  });
});
