import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { after, before, describe, test } from 'node:test';
import { openChaosProxy } from '../../support/chaos/chaos-proxy.ts';
import { startServerHere } from '../../support/server-here.ts';
import { temporaryFolder } from '../../support/server-process.ts';
import { PYTHON, PYTHON_ENV, skip as withoutPython } from './python.ts';

const skip = process.platform === 'win32' ? 'Windows has no fork' : withoutPython;

/** A child that does this and ends as programs do. Its parent waits for it, but not for ever. */
function fork(...lines: readonly string[]): string[] {
  const work = ['signal.alarm(20)', ...lines, 'sys.exit(0)'].map((line) => `    ${line}`);
  return ['sys.stdout.flush()', 'child = os.fork()', 'if child == 0:', ...work, 'os.waitpid(child, 0)'];
}

describe('a Python program that is forked', { skip }, () => {
  const folder = temporaryFolder({ after });
  let server: Awaited<ReturnType<typeof startServerHere>>;

  before(async () => {
    server = await startServerHere({ data: temporaryFolder({ after }), args: ['--demo'] });
  });
  after(() => server.stop());

  function start(...lines: readonly string[]) {
    const head = [
      'import berth_client, os, signal, sys, threading',
      'client = berth_client.Client(os.environ["SERVER"], "demo", "ada")',
    ];
    const env = { ...PYTHON_ENV, XDG_STATE_HOME: folder, HOME: folder, SERVER: server.url };
    // Newer versions warn of a fork with threads.
    const child = spawn(PYTHON ?? '', ['-W', 'ignore', '-c', [...head, ...lines].join('\n')], { env });
    let said = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        said += text;
      });
    }
    const ended = once(child, 'exit').then(([code, signal]) => ({ end: code ?? signal, said: said.trim() }));
    return { child, ended };
  }

  async function run(...lines: readonly string[]): Promise<string[]> {
    const { end, said } = await start(...lines).ended;
    assert.equal(end, 0, said);
    return said.split('\n');
  }

  async function find<Name extends string>(name: Name): Promise<number> {
    const answer = await fetch(`${server.url}/api/v4/license?product=demo`);
    return ((await answer.json()) as Record<Name, number>)[name];
  }

  test('has no slot in the child, which asks the server for its own', async () => {
    const said = await run(
      'slot = client.acquire()',
      'feature = slot.feature("render")',
      ...fork(
        'print(slot.is_held, slot.held_for, slot.is_released, slot.wait_until_lost(1), feature.is_held)',
        'try: slot.assert_held()',
        'except berth_client.SlotLostError as error: print(error.code)',
        'print(slot.release(), slot.is_held, threading.active_count())',
        'feature.release()',
        // The same user, so the server counts one slot. But it was asked.
        'own = client.acquire()',
        'print(own.is_held, own.license["floating_in_use"])',
        'own.release()',
      ),
      'print(slot.is_held, feature.is_held)',
      'print(berth_client.Client(os.environ["SERVER"], "demo", "bob").acquire().license["floating_in_use"])',
      'print(slot.release())',
    );
    const ofChild = ['False 0.0 True True False', 'slot_released', 'False False 1', 'True 1'];
    assert.deepEqual(said, [...ofChild, 'True True', '2', 'True']);
    assert.equal(await find('floating_in_use'), 0);
  });

  test('keeps its slot, however a child ends', async () => {
    const said = await run(
      'slot = client.acquire()',
      ...fork('pass'),
      ...fork('with slot: pass'),
      ...fork('os.kill(os.getpid(), signal.SIGTERM)', 'signal.pause()'),
      ...fork('raise ValueError("oops")'),
      'other = berth_client.Client(os.environ["SERVER"], "demo", "bob").acquire()',
      'print(other.license["floating_in_use"], slot.is_held, slot.release())',
    );
    assert.equal(said.at(-1), '2 True True');
    assert.equal(await find('floating_in_use'), 0);
  });

  test('is not stopped in the child by what a thread of the parent held', async () => {
    const said = await run(
      'slot = client.acquire()',
      'taken, over = threading.Event(), threading.Event()',
      'locks = [part._lock for part in (slot, slot._renewal, slot._events, client, client._account.clock)]',
      'locks += [berth_client.held_here._places._lock, berth_client.machine._guarding._lock]',
      'locks += [client._account.environment._sender._lock]',
      'def hold():',
      '    for lock in locks: lock.acquire()',
      '    taken.set()',
      '    over.wait()',
      '    for lock in locks: lock.release()',
      'holder = threading.Thread(target=hold)',
      'holder.start()',
      'taken.wait()',
      ...fork('print(slot.is_held, slot.release())', 'print(client.acquire().release())'),
      'over.set()',
      'holder.join()',
      'print(slot.release())',
    );
    assert.deepEqual(said, ['False False', 'True', 'True']);
  });

  test('counts once what parent and child have in the queue', async (t) => {
    let isAway = true;
    const plan = ({ path }: { path: string }) =>
      ({ kind: isAway && path.endsWith('/add_consumption') ? 'hang_after' : 'pass' }) as const;
    const proxy = await openChaosProxy({ target: server.url, plan });
    t.after(() => proxy.close());
    const { child, ended } = start(
      `queue = berth_client.Client("${proxy.url}", "demo", request_timeout="60s").open_queue()`,
      'queue.add(5)',
      'sys.stdin.readline()',
      ...fork(
        'sent, both = [], threading.Event()',
        'def hear(event):',
        '    sent.append(event.count.body["consumptions"])',
        '    if len(sent) == 2: both.set()',
        'queue.on("sent", hear)',
        'queue.add(2)',
        'print(queue.flush(), both.wait(10), sent)',
      ),
      'os._exit(0)',
    );
    // The parent's request is under way at the fork: it was counted, and never answered.
    await proxy.waitFor((requests) => requests.some(({ path }) => path.endsWith('/add_consumption')));
    isAway = false;
    child.stdin.end('go\n');
    const { end, said } = await ended;
    assert.equal(end, 0, said);
    assert.equal(said, 'True True [5, 2]');
    assert.equal(await find('total_consumptions'), 7);
  });
});
