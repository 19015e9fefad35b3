import assert from 'node:assert/strict';
import { test } from 'node:test';
import { formatLogLine, writeLogLine } from '../../src/console/log-line.ts';

const PIPE = { isTerminal: false, hasColor: false };
const line = writeLogLine(
  'warn',
  '2026-11-15T19:56:03.123Z',
  { user: 'ada\u001b[2J', n: 1 },
  'look\u202ehere',
);
const json =
  '{"level":"warn","time":"2026-11-15T19:56:03.123Z","user":"ada\\u001b[2J","n":1,"msg":"look\\u202ehere"}';

test('a line is JSON for programs', () => {
  for (const format of ['auto', 'json'] as const) assert.equal(formatLogLine(line, format, PIPE), json);
  assert.equal(formatLogLine(line, 'json', { isTerminal: true, hasColor: true }), json);
});

test('a line is a sentence for people: UTC in a file, local time with a date on a terminal', () => {
  const rest = 'look\\u{202e}here user="ada\\u001b[2J" n=1';
  assert.equal(formatLogLine(line, 'text', PIPE), `2026-11-15T19:56:03.123Z warn  ${rest}`);
  const terminal = { isTerminal: true, hasColor: false };
  assert.match(formatLogLine(line, 'auto', terminal), /^2026-11-1\d \d\d:\d\d:03 [+-]\d\d:\d\d warn {2}look/);
  const colored = formatLogLine(line, 'auto', { isTerminal: true, hasColor: true });
  assert.ok(colored.endsWith(`\u001b[33mwarn \u001b[39m ${rest}`), colored);
});
