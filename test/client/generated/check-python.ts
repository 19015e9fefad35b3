import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { temporaryFolder } from '../../support/server-process.ts';
import { PYTHON } from '../python/python.ts';
import { findUncalled, openSite, readDocument } from './site.ts';

/**
 * `npm run check:python-client`: generates a client with openapi-python-client, and calls every operation of
 * the v4 API with it. Not a test, because it installs the generator from the network.
 */
const GENERATOR = 'openapi-python-client==0.29.1';
const PROGRAM = fileURLToPath(new URL('call_every_operation.py', import.meta.url));

const work: (() => unknown)[] = [];
try {
  await check({ after: (one) => work.push(one) });
} finally {
  for (const one of work.reverse()) await one();
}

async function check(t: { after(one: () => unknown): void }): Promise<void> {
  if (PYTHON === null) throw new Error('This needs Python 3.11 or newer.');
  const folder = temporaryFolder(t, { hasPrograms: true });
  const bin = join(folder, 'venv', process.platform === 'win32' ? 'Scripts' : 'bin');
  run(PYTHON, ['-m', 'venv', join(folder, 'venv')]);
  run(join(bin, 'python'), ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', GENERATOR]);
  const site = await openSite(t);
  const [schema, config] = [join(folder, 'openapi.json'), join(folder, 'config.json')];
  writeFileSync(schema, JSON.stringify(await readDocument(site.url)));
  writeFileSync(config, JSON.stringify({ post_hooks: [] }));
  const output = ['--output-path', join(folder, 'berth_api'), '--meta', 'none'];
  const generator = join(bin, 'openapi-python-client');
  const said = run(generator, ['generate', '--path', schema, '--config', config, ...output]);
  for (const [warning] of said.matchAll(/^(?:WARNING|ERROR).*$/gm)) process.stdout.write(`${warning}\n`);
  const env = { PYTHONPATH: folder, PYTHONDONTWRITEBYTECODE: '1' };
  const uncalled = await findUncalled([join(bin, 'python'), PROGRAM], env, site);
  if (uncalled.length > 0) throw new Error(`Not called: ${uncalled.join(', ')}`);
  process.stdout.write('Every operation of the v4 API was called with generated code.\n');
}

function run(program: string, args: readonly string[]): string {
  return execFileSync(program, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] });
}
