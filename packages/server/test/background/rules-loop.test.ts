import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pino } from 'pino';
import { createGroupRefresher } from '../../src/background/rules-loop.ts';
import { MINUTE_MS } from '../../src/core/nouns/instant.ts';
import type { RuleBook } from '../../src/services/rules/rule-book.ts';

test('groups are refreshed every minute, and the same problem is logged once', async () => {
  const lines: string[] = [];
  const log = pino({}, { write: (line) => lines.push(JSON.parse(line).msg) });
  const away = { revision: 0, problems: ['It is away.'] };
  const rounds = [away, away, { revision: 2, problems: [] }, away];
  let asked = 0;
  const refreshGroups = async () => rounds[asked++] as (typeof rounds)[number];
  const loop = createGroupRefresher({ refreshGroups } as Partial<RuleBook> as RuleBook, log);
  loop.start();
  for (const _ of rounds) await loop.pass(MINUTE_MS);
  await loop.stop();
  assert.equal(asked, rounds.length);
  const stay = 'the last members of groups stay';
  assert.deepEqual(lines, [stay, 'members of groups in the rules have changed', stay]);
});
