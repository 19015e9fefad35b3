import { readFileSync } from 'node:fs';
import type { BuiltPage } from '@berth/shell/files/built-page';
import { findBundledFile } from '@berth/shell/files/bundled-files';
import type { FindPage } from './routes/page.ts';

const FILE = new URL('../../../admin/dist/page.json', import.meta.url);

/** Reads the page when it is first asked for: commands do not need it, and it may be built meanwhile. */
export function createPageSource(): FindPage {
  let page: BuiltPage | null = null;
  return () => {
    page ??= readPage();
    return page;
  };
}

function readPage(): BuiltPage | null {
  const text = findBundledFile('admin/dist/page.json') ?? readBuilt();
  return text === null ? null : (JSON.parse(text) as BuiltPage);
}

function readBuilt(): string | null {
  try {
    return readFileSync(FILE, 'utf8');
  } catch {
    return null;
  }
}
