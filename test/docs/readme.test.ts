import assert from 'node:assert/strict';
import { test } from 'node:test';
import { toPattern } from './console-blocks.ts';
import { runDemoPage } from './run-demo-page.ts';

for (const page of ['README.md', 'docs/securing.md'])
  test(`every command of ${page} prints what the page says`, (t) => runDemoPage(t, page));

test('the pattern of a page is strict where the page is', () => {
  const pattern = toPattern('{"a":1,…"at":"2026-11-15T03:20:00.000Z"}');
  assert.match('{"a":1,"b":2,"at":"2027-01-01T00:00:00.000Z"}', pattern);
  assert.doesNotMatch('{"a":2,"b":2,"at":"2027-01-01T00:00:00.000Z"}', pattern);
  assert.doesNotMatch('{"a":1,"b":2,"at":"soon"}', pattern);
});
