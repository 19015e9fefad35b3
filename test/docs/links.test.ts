import assert from 'node:assert/strict';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { test } from 'node:test';
import { PROJECT } from '../support/clone.ts';

const PAGES = globSync(['*.md', 'docs/**/*.md'], { cwd: PROJECT });

function read(page: string): string {
  return readFileSync(join(PROJECT, page), 'utf8').replace(/```.*?```/gs, '');
}

/** As GitHub makes them of headings. */
function listAnchors(page: string): readonly string[] {
  return [...read(page).matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replace(/[^\w\- ]/g, '')
      .replaceAll(' ', '-'),
  );
}

/** What a link of a page leads to, if that does not exist. */
function findBroken(page: string, link: string): string | null {
  const [path = '', anchor] = link.split('#');
  const target = path === '' ? page : normalize(join(dirname(page), path));
  if (!existsSync(join(PROJECT, target))) return `${page}: ${link}`;
  const isThere = anchor === undefined || listAnchors(target).includes(anchor);
  return isThere ? null : `${page}: ${link}`;
}

test('every link between pages leads to a page, and to a heading of it', () => {
  const links = PAGES.flatMap((page) =>
    [...read(page).matchAll(/\]\(([^)\s]+)\)/g)].map(([, link = '']) => [page, link] as const),
  );
  const own = links.filter(([, link]) => !/^[a-z]+:/.test(link));
  assert.ok(own.length > 50);
  const broken = own.map(([page, link]) => findBroken(page, link)).filter((one) => one !== null);
  assert.deepEqual(broken, []);
});
