import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { BuiltPage } from '@berth/shell/files/built-page';
import { findBundledFile } from '@berth/shell/files/bundled-files';
import type { FindPage } from './routes/page.ts';

/** The folder of the sources. An executable has none, and carries the page. */
const ROOT = new URL('../../../../', import.meta.url);

/** Several times the size of the page. */
const MAX_BYTES = 16 * 1024 * 1024;

/**
 * A server that runs from its sources builds the page when it is first asked for, in a process of its own. If
 * the sources are those of the last build, that is used.
 */
export function createPageSource(): FindPage {
  let page: Promise<BuiltPage | null> | null = null;
  return async () => {
    page ??= openPage();
    // After a failure only `npm run page` builds it: anyone can ask for the page, as often as they like.
    if ((await page) === null) page = Promise.resolve(readBuilt());
    return page;
  };
}

async function openPage(): Promise<BuiltPage | null> {
  const text = findBundledFile('admin/dist/page.json') ?? (await buildPage());
  return text === null ? null : (JSON.parse(text) as BuiltPage);
}

async function buildPage(): Promise<string | null> {
  try {
    const args = [fileURLToPath(new URL('build/page.ts', ROOT)), '--print'];
    return (await promisify(execFile)(process.execPath, args, { maxBuffer: MAX_BYTES })).stdout;
  } catch {
    return null;
  }
}

function readBuilt(): BuiltPage | null {
  try {
    return JSON.parse(readFileSync(new URL('packages/admin/dist/page.json', ROOT), 'utf8')) as BuiltPage;
  } catch {
    return null;
  }
}
