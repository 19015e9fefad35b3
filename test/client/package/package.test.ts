import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, globSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { type AddressInfo, connect, createServer } from 'node:net';
import { join } from 'node:path';
import { pipeline } from 'node:stream';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { build } from 'esbuild';
import { startServerHere } from '../../support/server-here.ts';
import { temporaryFolder } from '../../support/server-process.ts';

const run = promisify(execFile);
const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
const TSC = join(ROOT, 'node_modules', '.bin', 'tsc');
const README = readFileSync(join(ROOT, 'README.md'), 'utf8');
const MAX_BYTES = 41_000;
/** Nothing answers there, and nobody asks. */
const PROXY = { NODE_USE_ENV_PROXY: '1', HTTP_PROXY: 'http://127.0.0.1:1' };

describe('the package for applications, installed in an empty project', () => {
  const ends: (() => unknown)[] = [];
  const life = { after: (work: () => unknown) => ends.push(work) };
  const folder = temporaryFolder(life, { hasPrograms: true });
  let server: Awaited<ReturnType<typeof startServerHere>>;
  let file = '';

  before(async () => {
    const npm = { cwd: join(ROOT, 'packages', 'client'), shell: process.platform === 'win32' };
    await run('npm', ['run', 'build'], npm);
    const { stdout } = await run('npm', ['pack', '--json', '--pack-destination', folder], npm);
    file = join(folder, /"filename": "([^"]+)"/.exec(stdout)?.[1] ?? '');
    writeFileSync(join(folder, 'package.json'), '{ "type": "module", "private": true }\n');
    await run('npm', ['install', '--offline', '--no-audit', '--no-fund', file], { ...npm, cwd: folder });
    cpSync(join(ROOT, 'examples', 'typescript'), folder, { recursive: true });
    server = await startServerHere({ data: temporaryFolder(life), args: ['--demo'] });
    ends.unshift(() => server.stop());
  });
  after(async () => {
    for (const end of ends) await end();
  });

  /** Runs a program of the project. */
  async function runProgram(
    words: readonly string[],
    input: readonly string[] = [],
    settings = PROXY as object,
  ) {
    const env = { ...process.env, ...settings, XDG_STATE_HOME: folder, HOME: folder };
    const child = spawn(process.execPath, words, { cwd: folder, env, stdio: ['pipe', 'pipe', 'pipe'] });
    child.stdin.end(input.map((line) => `${line}\n`).join(''));
    let output = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (part: string) => {
        output += part;
      });
    }
    const [code] = (await once(child, 'close')) as [number | null];
    return { code, output };
  }

  async function countInUse(): Promise<number> {
    const answer = await fetch(`${server.url}/api/v4/license?product=demo`);
    return ((await answer.json()) as { floating_in_use: number }).floating_in_use;
  }

  async function call(path: string, user: string): Promise<number> {
    const body = JSON.stringify({ product: 'demo', user });
    return (await fetch(`${server.url}/api/v4/${path}`, { method: 'POST', body })).status;
  }

  test('is small, and brings nothing else', () => {
    assert.ok(statSync(file).size < MAX_BYTES, `${statSync(file).size} bytes`);
    const manifest = JSON.parse(
      readFileSync(join(folder, 'node_modules/@berth/client/package.json'), 'utf8'),
    );
    assert.equal(manifest.dependencies, undefined);
    assert.deepEqual(globSync('node_modules/*', { cwd: folder }), [join('node_modules', '@berth')]);
  });

  test('has types, for all ways to resolve modules', async () => {
    const wrong =
      "import { acquire } from '@berth/client';\nconst x: string = await acquire({ server: 1 });\n";
    writeFileSync(join(folder, 'wrong.ts'), `${wrong}console.log(x);\n`);
    writeFileSync(join(folder, 'readme.ts'), readExample());
    writeFileSync(join(folder, 'common.cts'), COMMON_JS);
    const files = ['readme.ts', 'wrong.ts'];
    const flags = ['--noEmit', '--strict', '--exactOptionalPropertyTypes', '--target', 'es2022'];
    for (const [module, resolution, ...others] of [
      ['node16', 'node16', 'common.cts'],
      ['esnext', 'bundler'],
    ]) {
      const words = ['--module', module, '--moduleResolution', resolution, '--lib', 'es2022,dom'] as string[];
      const all = [...flags, ...words, ...files, ...others];
      const { stdout } = await run(TSC, all, { cwd: folder }).catch((error) => error);
      assert.deepEqual(
        [...stdout.matchAll(/^(\S+?)\(/gm)].map(([, name]) => name),
        [...others, 'wrong.ts', 'wrong.ts'],
        stdout,
      );
    }
  });

  test('has the same names and types for require', async () => {
    const loaded = createRequire(join(folder, 'x.js'))('@berth/client');
    const types = readFileSync(join(folder, 'node_modules/@berth/client/main.d.cts'), 'utf8');
    const names = [...types.matchAll(/^export declare const (\w+)/gm)].map(([, name]) => name);
    assert.deepEqual(names.sort(), Object.keys(loaded).sort());
  });

  test('is the build for browsers only where browsers are meant', async () => {
    const find = (...conditions: string[]) =>
      build({
        stdin: { contents: "export * from '@berth/client'", resolveDir: folder },
        bundle: true,
        write: false,
        metafile: true,
        platform: 'neutral',
        external: ['node:*'],
        conditions,
      }).then(({ metafile }) => Object.keys(metafile.inputs).map((file) => file.split('/').at(-1)));
    // The second is what Rollup takes for Node.
    assert.ok((await find('browser', 'module', 'import')).includes('web.js'));
    for (const conditions of [['module', 'import'], ['node', 'import'], ['node', 'require'], ['deno']]) {
      assert.ok((await find(...conditions)).includes('main.js'), conditions.join());
    }
  });

  test('has types for older compilers', () => {
    for (const file of globSync('node_modules/@berth/client/dist/**/*.d.ts', { cwd: folder })) {
      // It has a parameter only since TypeScript 5.7.
      assert.doesNotMatch(readFileSync(join(folder, file), 'utf8'), /Uint8Array</, file);
    }
  });

  test('runs without Node as well', async () => {
    const web = readFileSync(join(folder, 'node_modules/@berth/client/dist/web.js'), 'utf8');
    const shared = readFileSync(join(folder, 'node_modules/@berth/client/dist/shared.js'), 'utf8');
    assert.doesNotMatch(web + shared, /node:|process\b|Buffer\b/);
    const code = `import { acquire } from '@berth/client';
      const slot = await acquire({ server: '${server.url}', product: 'demo' });
      console.log(slot.user, await slot.release());`;
    writeFileSync(
      join(folder, 'web.js'),
      code.replace('@berth/client', './node_modules/@berth/client/dist/web.js'),
    );
    const { output } = await runProgram(['web.js'], [], {});
    assert.match(output, /^web@browser\/\w{8} true\n$/m);
  });

  test('runs the example of the README', async () => {
    writeFileSync(join(folder, 'readme.ts'), readExample().replaceAll('http://127.0.0.1:8080', server.url));
    const { code, output } = await runProgram(['readme.ts']);
    assert.equal(code, 0, output);
    assert.match(output, /^\S+@\S+ may use demo\.\n$/);
    assert.equal(await countInUse(), 0);
  });

  test('runs the example of a command line tool', async () => {
    const { code, output } = await runProgram(['cli-tool.ts', server.url, 'demo', 'a.dwg', 'b.dwg']);
    assert.deepEqual([code, output], [0, 'a.dwg is converted.\nb.dwg is converted.\n']);
    assert.equal(await countInUse(), 0);
    const refused = await runProgram(['cli-tool.ts', server.url, 'other', 'a.dwg']);
    assert.equal(refused.code, 75);
    assert.match(refused.output, /"other".*Check the product code/);
  });

  test('runs the example of a tool that waits for a slot', async () => {
    const users = ['one', 'two', 'three', 'four', 'five'];
    for (const user of users) assert.equal(await call('register', user), 200);
    const running = runProgram(['cli-tool.ts', server.url, 'demo', 'a.dwg']);
    setTimeout(() => call('unregister', 'one'), 500);
    const { code, output } = await running;
    assert.equal(code, 0, output);
    assert.match(output, /a\.dwg is converted/);
    for (const user of users.slice(1)) assert.equal(await call('unregister', user), 200);
  });

  test('runs the example of a worker that counts', async () => {
    const relay = createServer((socket) => {
      const through = connect(Number(new URL(server.url).port), '127.0.0.1');
      pipeline(socket, through, socket, () => {});
    });
    const listen = async (port: number) => {
      await once(relay.listen(port, '127.0.0.1'), 'listening');
      return (relay.address() as AddressInfo).port;
    };
    const port = await listen(0);
    await new Promise((resolve) => relay.close(resolve));
    const away = await runProgram(['batch-worker.ts', `http://127.0.0.1:${port}`, 'demo', '2']);
    assert.match(away.output, /Job 2 is done\.[\s\S]*2 counts wait for the server/);
    const other = await runProgram(['batch-worker.ts', server.url, 'demo', '0']);
    assert.match(other.output, /2 counts wait for another server\.\n/);
    await listen(port);
    ends.unshift(() => relay.close());
    const { output } = await runProgram(['batch-worker.ts', `http://127.0.0.1:${port}`, 'demo', '3']);
    assert.match(output, /Job 3 is done\.\nThe server has counted 5\.\n$/);
  });

  test('runs the example of a desktop application that borrows', async () => {
    const first = await runProgram(['desktop-app.ts', server.url, 'demo'], ['status', 'borrow']);
    assert.match(first.output, /^Online\.\nLicensed\.\nBorrowed until \S+Z\.\n$/);
    assert.equal(await countInUse(), 1);
    const offline = await runProgram(['desktop-app.ts', 'http://127.0.0.1:1', 'demo'], ['status']);
    assert.match(offline.output, /^Offline until \S+Z\.\nLicensed\.\n$/);
    const last = await runProgram(['desktop-app.ts', server.url, 'demo'], ['give back', 'status']);
    assert.match(last.output, /^Offline until \S+Z\.\nOnline\.\nLicensed\.\n$/);
    assert.equal(await countInUse(), 0);
  });
});

const COMMON_JS = `
import berth = require('@berth/client');
import { acquire, BerthError, type ClientOptions, type Slot } from '@berth/client';
const user = process.env.USER;
declare const process: { env: Record<string, string | undefined> };
const options: ClientOptions = { server: 'http://x', product: 'demo', user, ca: undefined, renewEvery: user };
acquire({ ...options, wait: user, signal: undefined }).then(
  (slot: Slot) => slot.on('lost', ({ reason }) => console.log(reason)),
  (error: unknown) => error instanceof BerthError && console.log(error.advice satisfies string),
);
const wrong: number = berth.connect(options).user;
console.log(wrong);
`;

function readExample(): string {
  const [, example] = /^```ts\n([\s\S]*?)^```$/m.exec(README) ?? [];
  assert.ok(example, 'The README has an example.');
  return example;
}
