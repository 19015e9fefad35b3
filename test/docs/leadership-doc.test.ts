import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { CLOCK_INTERVAL_MS } from '../../packages/server/src/background/housekeeping-loops.ts';
import {
  ANOTHER_LEADS,
  LOOK_INTERVAL_MS,
  THIS_LEADS,
} from '../../packages/server/src/background/leader-gate.ts';
import { REST_MS } from '../../packages/server/src/core/clock/clock.ts';
import {
  FORGET_MS,
  LEASE_MARGIN_MS,
  LEASE_MS,
} from '../../packages/server/src/store/postgres/fleet/leader-election.ts';

const PAGE = readFileSync(new URL('../../docs/leadership.md', import.meta.url), 'utf8');
const OTHER_PAGE = readFileSync(new URL('../../docs/postgresql.md', import.meta.url), 'utf8');

const CONSTANTS = { CLOCK_INTERVAL_MS, LEASE_MS, LEASE_MARGIN_MS, LOOK_INTERVAL_MS, REST_MS, FORGET_MS };

function inWords(ms: number): string {
  return ms % 3_600_000 === 0 ? `${ms / 3_600_000} h` : `${ms / 1000} s`;
}

describe('docs/leadership.md', () => {
  test('has the constants of the code in its table', () => {
    const rows = [...PAGE.matchAll(/^\| `(\w+_MS)` \| ([^|]+) \|/gm)].map(([, name, value]) => [name, value]);
    assert.deepEqual(
      rows,
      Object.entries(CONSTANTS).map(([name, ms]) => [name, inWords(ms)]),
    );
  });

  test('says how long a takeover takes, and when a holder stops', () => {
    const roundsMs = CLOCK_INTERVAL_MS + LOOK_INTERVAL_MS;
    assert.ok(PAGE.includes(`within another: **${inWords(roundsMs)}**`));
    assert.ok(PAGE.includes(`until it runs out: **${inWords(LEASE_MS + roundsMs)}** at most`));
    const reliedOn = inWords(LEASE_MS - LEASE_MARGIN_MS);
    for (const phrase of [
      `for up to ${reliedOn} that it`,
      `leading ${reliedOn} after`,
      `after ${reliedOn} nobody leads`,
    ])
      assert.ok(PAGE.includes(phrase), phrase);
    assert.match(PAGE, /lease for six seconds/);
    assert.match(OTHER_PAGE, /lease of six seconds/);
    assert.equal(LEASE_MS, 6000);
  });

  test('quotes the log', () => {
    for (const message of [THIS_LEADS, ANOTHER_LEADS]) assert.ok(PAGE.includes(`\`${message}\``), message);
  });

  test('names files that there are, and postgresql.md points to it', () => {
    const files = [...PAGE.matchAll(/`(packages\/[\w./-]+)`/g)].map(([, path = '']) => path);
    const links = [...PAGE.matchAll(/\]\(([\w-]+\.md)/g)].map(([, name]) => `docs/${name}`);
    assert.ok(files.length > 1 && links.length > 1);
    for (const path of [...files, ...links])
      assert.ok(existsSync(new URL(`../../${path}`, import.meta.url)), path);
    assert.match(OTHER_PAGE, /\]\(leadership\.md\)/);
  });
});
