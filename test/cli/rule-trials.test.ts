import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { runBerth } from '../support/berth-command.ts';
import { temporaryFolder } from '../support/server-process.ts';
import { ServerUnderTest } from '../support/server-under-test.ts';

const RULES = `groups:
  team: { users: ["t-*"] }
products:
  demo:
    reserve:
      - { slots: 4, for: team }
`;

describe('rules of a file', () => {
  test('are tried on the past, and explained when they are in force', async (t) => {
    const file = join(temporaryFolder(t), 'draft.yaml');
    writeFileSync(file, RULES);
    const server = ServerUnderTest.make(t);
    await server.start({ args: ['--demo'], isHere: true });
    const berth = (...words: string[]) => runBerth(server.data, words);
    const none = await berth('rules', 'try', file);
    assert.match(none.stdout, /^Nobody has asked for a slot since /);
    for (const user of ['ann', 'bob', 't-1']) await server.api.register({ product: 'demo', user });
    const tried = await berth('rules', 'try', file, '--since', '1h');
    assert.match(
      tried.stdout,
      /^Of 3 requests .*, 1 was served and would have been refused, by "reserve 4 for team" \(line 6\)\.\n/,
    );
    assert.match(tried.stdout, /\nline +product +rule .*\n6 +demo +reserve 4 for team +1 /);
    assert.match(tried.stdout, /\nuser +newly refused +newly served\nbob +1 +0\n$/);
    const json = JSON.parse((await berth('rules', 'try', file, '--json')).stdout);
    assert.deepEqual([json.requests, json.newly_refused], [3, 1]);
    await berth('rules', 'apply', file);
    const outsider = await berth('rules', 'why', 'zoe');
    assert.match(
      outsider.stdout,
      /^"zoe" would be refused: 2 of 5 slots .*\nDecided by line 6, "reserve 4 for team"\./,
    );
    const member = await berth('rules', 'why', 't-2');
    assert.match(member.stdout, /^A slot would be lent: .*\n\ngroup +because of\nteam +users: t-\*\n$/);
  });
});
