import { execFileSync } from 'node:child_process';
import { existsSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { PROJECT } from '../../support/clone.ts';
import { packTexts } from '../packed-folder.ts';

/** The page is built for browsers, which these tests have not. */
const LEFT_OUT = 'admin/dist/page.json';

/**
 * Runs in the released commit: bundles its programs, and makes its packages for applications. Without the
 * blanks, the bundle needs a quarter less; the names stay.
 */
const BUILD = `
  import { writeFileSync } from 'node:fs';
  import { stop, transform } from 'esbuild';
  import { bundleProgram } from './build/bundle.ts';
  import { collectLicenses } from './build/licenses.ts';
  import { packPythonClient, packTypeScriptClient } from './build/release/clients.ts';
  const [origin, clients, out] = JSON.parse(process.env.TO_BUILD);
  const { text, packages, files } = await bundleProgram({ origin, isRelease: true });
  const options = { platform: 'node', target: 'node26', minifyWhitespace: true, charset: 'ascii' };
  const shrink = async (code) => (await transform(code, options)).code;
  // Node is not in it.
  const texts = collectLicenses(process.cwd(), packages).split(/(?=\\n-{80}\\n)/);
  const licenses = texts.filter((text) => !/^[-\\n]*Node\\.js\\n/.test(text)).join('');
  const made = { 'berth.cjs': await shrink(text), 'LICENSES.txt': licenses };
  for (const [path, content] of Object.entries(files)) {
    made[path] = path.endsWith('.ts') ? await shrink(content) : content;
  }
  await stop();
  packTypeScriptClient(process.cwd(), clients);
  packPythonClient(process.cwd(), clients);
  writeFileSync(out, JSON.stringify(made));
`;

interface Built {
  readonly version: string;
  readonly commit: string;
}

/** Checks a released commit out, and writes its programs and packages to the folder of its version. */
export function buildRelease(commit: string, scratch: string, folderOf: (version: string) => string): Built {
  const git = (...words: readonly string[]) =>
    execFileSync('git', words, { cwd: PROJECT, encoding: 'utf8' }).trim();
  const [full = '', date = ''] = git('log', '-1', '--format=%H %cs', commit).split(' ');
  const root = join(scratch, 'released');
  git('worktree', 'add', '--quiet', '--detach', root, full);
  try {
    execFileSync('npm', ['ci', '--silent'], { cwd: root, stdio: ['ignore', 'inherit', 'inherit'] });
    const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
    const folder = folderOf(version);
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(folder, { recursive: true });
    const out = join(scratch, 'built.json');
    const origin = { commit: full.slice(0, 8), date };
    const env = {
      ...process.env,
      PATH: `${dirname(process.execPath)}${delimiter}${process.env.PATH}`,
      TO_BUILD: JSON.stringify([origin, folder, out]),
    };
    execFileSync(process.execPath, ['--input-type=module', '-e', BUILD], {
      cwd: root,
      env,
      stdio: 'inherit',
    });
    const { [LEFT_OUT]: _, ...texts } = JSON.parse(readFileSync(out, 'utf8'));
    for (const path of Object.keys(texts)) refusePlaces(path, texts[path], scratch);
    writeFileSync(join(folder, 'program.json.br'), packTexts(texts));
    for (const archive of globSync('*.tar.gz', { cwd: folder })) rmSync(join(folder, archive));
    return { version, commit: full };
  } finally {
    git('worktree', 'remove', '--force', root);
    if (existsSync(root)) rmSync(root, { recursive: true });
  }
}

/** What is committed says nothing about the machine on which it was made. */
function refusePlaces(path: string, text: string, scratch: string): void {
  if (text.includes(scratch) || text.includes(PROJECT))
    throw new Error(`${path} names a folder of this machine.`);
}
