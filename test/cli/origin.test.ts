import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { readHead } from '../../bin/origin.ts';
import { temporaryFolder } from '../support/server-process.ts';

const COMMIT = '5f896a5a0000000000000000000000000000c0de';

/** A folder with these files, as git writes them. */
function makeRepository(t: TestContext, files: Readonly<Record<string, string>>): string {
  const folder = temporaryFolder(t);
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), `${text}\n`);
  }
  return folder;
}

describe('the commit of a clone, found without git', () => {
  for (const [how, files] of [
    ['of a branch', { '.git/HEAD': 'ref: refs/heads/main', '.git/refs/heads/main': COMMIT }],
    ['without a branch', { '.git/HEAD': COMMIT }],
    [
      'after git packed its branches',
      { '.git/HEAD': 'ref: refs/heads/main', '.git/packed-refs': `# pack-refs\n${COMMIT} refs/heads/main` },
    ],
    [
      'in a linked worktree',
      {
        '.git': 'gitdir: main/.git/worktrees/one',
        'main/.git/worktrees/one/HEAD': 'ref: refs/heads/one',
        'main/.git/worktrees/one/commondir': '../..',
        'main/.git/refs/heads/one': COMMIT,
      },
    ],
  ] as const) {
    test(how, (t) => {
      assert.equal(readHead(join(makeRepository(t, files), '.git')), COMMIT);
    });
  }

  test('is unknown if the branch is', (t) => {
    const folder = makeRepository(t, { '.git/HEAD': 'ref: refs/heads/main', '.git/packed-refs': '' });
    assert.equal(readHead(join(folder, '.git')), null);
  });
});
