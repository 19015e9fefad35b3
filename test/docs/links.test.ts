import assert from 'node:assert/strict';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { test } from 'node:test';
import { PROJECT } from '../support/clone.ts';

const READMES = ['clients/*/README.md', 'examples/README.md', 'packages/*/README.md'];
const PAGES = globSync(['*.md', 'docs/**/*.md', ...READMES], { cwd: PROJECT });

/** Whatever may name a page in a comment or a message. The examples of tidy name files that do not exist. */
const SOURCES = globSync(
  ['Dockerfile', '{bin,build,deploy,monitoring}/**/*.*', '{clients,packages,test}/**/*.{py,ts,tsx}'],
  { cwd: PROJECT, exclude: ['**/node_modules', 'test/tidy'] },
);

function read(page: string): string {
  return readFileSync(join(PROJECT, page), 'utf8').replace(/```.*?```/gs, '');
}

function exists(path: string): boolean {
  return existsSync(join(PROJECT, path));
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
  if (!exists(target)) return `${page}: ${link}`;
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

/** The missing ones among the paths that a file names. */
function listMissing(file: string, paths: RegExp): readonly string[] {
  const named = Array.from(read(file).matchAll(paths), ([, path = '']) => path);
  return named.filter((path) => !exists(path)).map((path) => `${file}: ${path}`);
}

test('every file that a page names exists', () => {
  // The changelog names files of earlier versions; secrets are made by the reader.
  const current = PAGES.filter((page) => page !== 'CHANGELOG.md');
  const path =
    /`((?:build|clients|deploy(?!\/secrets)|docs|examples|monitoring|packages|test)\/[a-z\d./-]+)`/g;
  assert.deepEqual(
    current.flatMap((page) => listMissing(page, path)),
    [],
  );
});

test('every page that a comment or a message names exists', () => {
  assert.ok(SOURCES.length > 100);
  assert.deepEqual(
    SOURCES.flatMap((source) => listMissing(source, /\b(docs\/[\w/-]+\.md)/g)),
    [],
  );
});
