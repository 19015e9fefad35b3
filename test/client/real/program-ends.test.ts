import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { after, before, describe, type TestContext, test } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { build } from 'esbuild';
import type { ChaosPlan } from '../../support/chaos/chaos-fault.ts';
import { openChaosProxy } from '../../support/chaos/chaos-proxy.ts';
import { pollUntil } from '../../support/poll.ts';
import { temporaryFolder } from '../../support/server-process.ts';
import { ServerUnderTest } from '../../support/server-under-test.ts';
import { testLicense } from '../../support/test-license.ts';

const SOURCES = fileURLToPath(new URL('../../../packages/client/src', import.meta.url));

describe('a program that ends', () => {
  let server: ServerUnderTest;
  let folder: string;
  let client: string;
  const ends: (() => unknown)[] = [];
  before(async () => {
    const life = { after: (work: () => unknown) => ends.push(work) };
    server = await ServerUnderTest.start(life, { licenses: [testLicense(1)], isHere: true });
    folder = temporaryFolder(life);
    client = join(folder, 'client.mjs');
    await bundleClient(client);
  });
  after(async () => {
    for (const end of ends) await end();
  });

  /** Starts a program that takes a slot and then goes on with the code. */
  function startProgram(code: string, user?: string) {
    const options = { server: server.url, product: 'cad', user };
    return startClient(
      `const slot = await acquire(${JSON.stringify(options)});
       console.log(slot.user);
       ${code}`,
    );
  }

  async function startClient(code: string) {
    const text = `import { acquire, releaseLimit } from ${JSON.stringify(pathToFileURL(client).href)};
      releaseLimit.longestMs = 60_000;
      ${code}`;
    const child = spawn(process.execPath, ['--input-type=module', '-e', text], {
      env: { ...process.env, XDG_STATE_HOME: folder, HOME: folder },
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    ends.unshift(() => child.kill('SIGKILL'));
    let output = '';
    let errors = '';
    child.stdout.setEncoding('utf8').on('data', (part: string) => {
      output += part;
    });
    child.stderr.setEncoding('utf8').on('data', (part: string) => {
      errors += part;
    });
    const ended = once(child, 'close') as Promise<[number | null, NodeJS.Signals | null]>;
    return { child, ended, readOutput: () => output, readErrors: () => errors };
  }

  const ENDS: readonly [what: string, code: string, ending: readonly (number | string | null)[]][] = [
    ['because it has nothing more to do', '', [0, null]],
    ['with process.exit()', 'process.exit(3)', [3, null]],
    ['with an error', 'throw new Error("oh")', [1, null]],
    ['with an error later', 'setTimeout(() => { throw new Error("oh"); }, 10)', [1, null]],
    ['at the end of its block', '{ await using it = slot; }', [0, null]],
  ];

  for (const [what, code, ending] of ENDS) {
    test(`${what} returns its slot`, async () => {
      const program = await startProgram(code);
      assert.deepEqual(await program.ended, ending, program.readErrors());
      assert.match(program.readOutput(), /@.+\/\d+-/);
      assert.deepEqual(await server.api.holders(), []);
    });
  }

  test('by a signal returns its slot, and ends by that signal', async () => {
    for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) {
      const program = await startProgram('setInterval(() => {}, 1000)');
      await pollUntil('its output', () => program.readOutput().includes('\n') || undefined);
      assert.equal((await server.api.holders()).length, 1);
      program.child.kill(signal);
      assert.deepEqual(await program.ended, [null, signal]);
      assert.deepEqual(await server.api.holders(), []);
    }
  });

  /** Two programs of one user, of which each has the slot. */
  async function startTwo() {
    const start = () => startProgram('process.stdin.once("data", () => process.exit(0));', 'ada');
    const both = [await start(), await start()] as const;
    for (const { readOutput } of both)
      await pollUntil('its output', () => readOutput().includes('\n') || undefined);
    assert.deepEqual(await readPrograms(), [2]);
    return both;
  }

  /** How many programs each slot has. */
  async function readPrograms(): Promise<readonly number[]> {
    return (await server.api.holders()).map(({ programs }) => programs);
  }

  type Program = Awaited<ReturnType<typeof startClient>>;
  const exit = ({ child }: Program) => child.stdin.write('end\n');
  const stop = ({ child }: Program) => child.kill('SIGTERM');

  test('leaves the slot to another program of its user, in any order', async () => {
    for (const [endFirst, endSecond] of [
      [exit, stop],
      [stop, exit],
    ] as const) {
      for (const order of [0, 1] as const) {
        const both = await startTwo();
        const [first, second] = [both[order], both[order === 0 ? 1 : 0]];
        endFirst(first);
        await first.ended;
        assert.deepEqual(await readPrograms(), [1]);
        endSecond(second);
        await second.ended;
        assert.deepEqual(await readPrograms(), []);
      }
    }
  });

  test('by SIGKILL leaves the slot to its timeout, whoever ends after it', async () => {
    const [first, second] = await startTwo();
    first.child.kill('SIGKILL');
    await first.ended;
    exit(second);
    await second.ended;
    assert.deepEqual(await readPrograms(), [1]);
    await server.api.unregister({ product: 'cad', user: 'ada' });
    assert.deepEqual(await readPrograms(), []);
  });

  /** Starts a program that has asked for a slot, which the server has lent it, but hears nothing of it. */
  async function startUnheard(t: TestContext, code: string) {
    const plan: ChaosPlan = ({ path }) => ({ kind: path.endsWith('/register') ? 'hang_after' : 'pass' });
    const proxy = await openChaosProxy({ target: server.url, plan });
    t.after(() => proxy.close());
    const options = JSON.stringify({ server: proxy.url, product: 'cad', wait: '1h' });
    const program = await startClient(`${code}\nawait acquire(${options});`);
    await pollUntil('the slot', async () => (await server.api.holders()).length === 1 || undefined);
    return program;
  }

  test('by a signal returns a slot of which it has not heard, and ends by that signal', async (t) => {
    for (const signal of ['SIGTERM', 'SIGINT'] as const) {
      // It waits for the answer in the first half of this.
      const program = await startUnheard(t, 'releaseLimit.longestMs = 10_000;');
      program.child.kill(signal);
      assert.deepEqual(await program.ended, [null, signal], program.readErrors());
      assert.deepEqual(await server.api.holders(), []);
      assert.equal(program.readErrors(), '');
    }
  });

  test('with process.exit() returns a slot of which it has not heard', async (t) => {
    const program = await startUnheard(t, 'process.stdin.once("data", () => process.exit(3));');
    program.child.stdin.write('end\n');
    assert.deepEqual(await program.ended, [3, null], program.readErrors());
    assert.deepEqual(await server.api.holders(), []);
  });

  test('ends although the server does not answer when it returns its slot', async (t) => {
    const plan: ChaosPlan = ({ path }) => ({ kind: path.endsWith('/unregister') ? 'hang_after' : 'pass' });
    const proxy = await openChaosProxy({ target: server.url, plan });
    t.after(() => proxy.close());
    const options = JSON.stringify({ server: proxy.url, product: 'cad', requestTimeout: '1d' });
    const program = await startClient(
      `const slot = await acquire(${options});
       releaseLimit.longestMs = 300;
       console.log(await slot.release());`,
    );
    assert.deepEqual(await program.ended, [0, null], program.readErrors());
    assert.equal(program.readOutput(), 'false\n');
    await pollUntil('the slot', async () => (await server.api.holders()).length === 0 || undefined);
  });

  test('by a signal that it handles itself keeps its slot until then', async () => {
    const program = await startProgram(
      `process.on('SIGTERM', () => { console.log('held', slot.isHeld); process.exit(0); });
       setInterval(() => {}, 1000);
       console.log('ready');`,
    );
    await pollUntil('its output', () => program.readOutput().includes('ready') || undefined);
    program.child.kill('SIGTERM');
    assert.deepEqual(await program.ended, [0, null]);
    assert.match(program.readOutput(), /held true/);
    assert.deepEqual(await server.api.holders(), []);
  });

  test('keeps what it has borrowed, however it ends', async () => {
    for (const end of [
      '',
      'process.exit(0)',
      'process.kill(process.pid, "SIGTERM")',
      'await slot.release()',
    ]) {
      const program = await startProgram(`const borrow = await slot.borrow({ until: '2h' });\n${end}`);
      await program.ended;
      const [user = ''] = program.readOutput().split('\n');
      assert.equal((await server.api.holder(user))?.user, user, end);
      const { status } = await server.api.post('/api/v4/unregister', { product: 'cad', user });
      assert.equal(status, 200);
    }
  });
});

/** One module, as in the package: each program starts in half the time that the sources take. */
async function bundleClient(outfile: string): Promise<void> {
  const contents = "export { acquire } from './main.ts'; export { releaseLimit } from './release-limit.ts';";
  const stdin = { contents, resolveDir: SOURCES };
  await build({ stdin, outfile, bundle: true, format: 'esm', platform: 'node', target: 'es2022' });
}
