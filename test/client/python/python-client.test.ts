import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { TLSSocket } from 'node:tls';
import { makeTestCertificate } from '../../support/certificate.ts';
import { openChaosProxy } from '../../support/chaos/chaos-proxy.ts';
import { pollUntil } from '../../support/poll.ts';
import { rsaKeysOf } from '../../support/rsa-keys.ts';
import { startServerHere } from '../../support/server-here.ts';
import { temporaryFolder } from '../../support/server-process.ts';
import { PACKAGE, PYTHON, PYTHON_ENV, runPython, skip } from './python.ts';

const README = readFileSync(join(PACKAGE, 'README.md'), 'utf8');
const MAX_BYTES = 38_000;
/** Nothing answers there, and nobody asks. */
const PROXY = { HTTP_PROXY: 'http://127.0.0.1:1', HTTPS_PROXY: 'http://127.0.0.1:1' };
const SECURE = makeTestCertificate({ commonName: 'server' });
const PROGRAM = makeTestCertificate({ commonName: 'program' });
/** The end of a program that says when it is ready for a signal. */
const WAIT = ['print("ready", flush=True)', 'signal.pause()'];

describe('the Python client', { skip }, () => {
  const folder = temporaryFolder({ after }, { hasPrograms: true });
  const unpacked = join(folder, 'unpacked');
  let wheel: string;
  let server: Awaited<ReturnType<typeof startServerHere>>;
  let env: NodeJS.ProcessEnv;

  before(async () => {
    const build = `import build_backend; print(build_backend.build_wheel(${JSON.stringify(folder)}))`;
    wheel = join(folder, (await runPython(['-c', build])).stdout.trim());
    await runPython(['-m', 'zipfile', '-e', wheel, unpacked]);
    server = await startServerHere({ data: temporaryFolder({ after }), args: ['--demo'] });
    const state = { XDG_STATE_HOME: folder, LOCALAPPDATA: folder, HOME: folder };
    // What is unpacked is compiled once.
    const paths = { PYTHONPATH: unpacked, PYTHONDONTWRITEBYTECODE: '' };
    env = { ...PYTHON_ENV, ...state, ...paths, ...PROXY, SERVER: server.url };
  });
  after(() => server.stop());

  test('passes its own tests, in simulated time', async () => {
    const { stderr } = await runPython(['-m', 'unittest', 'discover', '-t', '.', '-s', 'tests']);
    assert.match(stderr, /Ran [1-9]\d+ tests/);
  });

  test('gives the same archives from the same sources', async (t) => {
    const build = async () => {
      const target = temporaryFolder(t);
      const code =
        'import build_backend as b, sys; to = sys.argv[1]; print(b.build_wheel(to), b.build_sdist(to))';
      const names = (await runPython(['-c', code, target])).stdout.trim().split(' ');
      return names.map((name) => readFileSync(join(target, name), 'base64'));
    };
    assert.deepEqual(await build(), await build());
  });

  test('is a small wheel that installs into an empty environment without network, with types', async (t) => {
    assert.ok(statSync(wheel).size < MAX_BYTES, `${statSync(wheel).size} bytes`);
    const find = 'import importlib.util; print(importlib.util.find_spec("pip") is not None)';
    if (!(await runPython(['-c', find])).stdout.startsWith('True')) return t.skip('optional: needs pip');
    await runPython(['-m', 'venv', '--without-pip', join(folder, 'venv')]);
    const python = join(folder, 'venv', process.platform === 'win32' ? 'Scripts/python.exe' : 'bin/python');
    const install = ['--no-index', '--no-deps', '--disable-pip-version-check', '--no-compile', wheel];
    await runPython(['-m', 'pip', '--python', python, 'install', ...install]);
    const look = 'import berth_client, pathlib; print(*pathlib.Path(berth_client.__file__).parent.iterdir())';
    const { stdout } = await runPython(['-c', look], { env: { ...env, PYTHONPATH: '' }, program: python });
    assert.match(stdout, /venv\S+py\.typed/);
  });

  test('accepts what others have signed, and nothing else', async () => {
    const vendor = rsaKeysOf('vendor');
    const key = generateKeyPairSync('ed25519');
    const cnf = { jwk: key.publicKey.export({ format: 'jwk' }) };
    const terms = { license_id: 7, product: 'cad', limits: { floating_users: 5 }, features: [] };
    const licenses = [{ ...terms, ends_at: null }];
    const server = { hardware_id: 'hw', licenses, cnf, expires_at: '2090-01-01T00:00:00Z' };
    const claims = { ...terms, nonce: 'n', user: 'ada', feature: null, hardware_id: 'hw' };
    const times = { issued_at: '2030-01-01T00:00:00Z', valid_until: '2030-01-02T00:00:00Z' };
    const grant = { ...claims, ...times };
    const given = {
      pem: vendor.publicKey.export({ format: 'pem', type: 'spki' }),
      certificate: signText({ alg: 'RS256', typ: 'berth-server+jwt' }, server, vendor.privateKey),
      grants: [
        signText({ alg: 'EdDSA', typ: 'berth-grant+jwt' }, grant, key.privateKey),
        signText({ alg: 'EdDSA', typ: 'berth-grant+jwt' }, grant, generateKeyPairSync('ed25519').privateKey),
        `${Buffer.from('['.repeat(60_000)).toString('base64url')}..`,
      ],
    };
    const { stdout } = await runPython(['-c', VERIFY, JSON.stringify(given)], { env });
    assert.deepEqual(stdout.trim().split(/\s+/), ['accepted', 'refused', 'refused']);
  });

  /** A program that can use `client`. */
  function start(...lines: readonly string[]) {
    const head = [
      'import berth_client, os, signal, sys',
      'client = berth_client.Client(os.environ["SERVER"], "demo")',
    ];
    const child = spawn(PYTHON ?? '', ['-c', [...head, ...lines].join('\n')], { env });
    return { child, ended: listen(child) };
  }

  async function run(...lines: readonly string[]): Promise<string> {
    const { code, said } = await start(...lines).ended;
    assert.equal(code, 0, said);
    return said.trim();
  }

  test('works with a server as its README prints it', async () => {
    const example = /```python\n([\s\S]*?)```/.exec(README)?.[1] ?? '';
    assert.ok(example.split('\n').filter((line) => line !== '').length <= 5);
    const program = example.replace('http://127.0.0.1:8080', server.url);
    const { stdout } = await runPython(['-c', program], { env });
    assert.match(stdout, /^\S+@\S+\/\d+-\w+ may (work for 59\d seconds without the server|use demo\.)\n$/);
    assert.equal(await countInUse(server.url), 0);
  });

  test('returns the slot of a program that ends by itself, or by an error', async () => {
    await run('slot = client.acquire()');
    assert.equal(await countInUse(server.url), 0);
    const { code, said } = await start('slot = client.acquire()', 'raise ValueError("oops")').ended;
    assert.equal(code, 1);
    assert.match(said, /oops/);
    assert.equal(await countInUse(server.url), 0);
  });

  test('returns the slot of a program that is terminated', { skip: isWindows() }, async () => {
    const { child, ended } = start('slot = client.acquire()', ...WAIT);
    await once(child.stdout, 'data');
    assert.equal(await countInUse(server.url), 1);
    child.kill('SIGTERM');
    assert.equal((await ended).signal, 'SIGTERM');
    assert.equal(await countInUse(server.url), 0);
  });

  test('takes a slot beside an event loop, and returns it when terminated', {
    skip: isWindows(),
  }, async () => {
    const { child, ended } = start(
      'import asyncio',
      'async def main():',
      '    async with await client.acquire_async() as slot: pass',
      '    second = await client.acquire_async()',
      '    print("ready" if slot.is_released and second.is_held else "wrong", flush=True)',
      '    await asyncio.sleep(3600)',
      'asyncio.run(main())',
    );
    assert.match(String(await once(child.stdout, 'data')), /^ready/);
    assert.equal(await countInUse(server.url), 1);
    child.kill('SIGTERM');
    assert.equal((await ended).signal, 'SIGTERM');
    assert.equal(await countInUse(server.url), 0);
  });

  test('reaches a server with a private authority that requires certificates', async (t) => {
    const files = { ca: SECURE, cert: PROGRAM, key: PROGRAM };
    const given: Record<string, string> = {};
    for (const [name, { cert, key }] of Object.entries(files)) {
      given[name] = join(folder, `${name}.pem`);
      writeFileSync(given[name], name === 'key' ? key : cert);
    }
    const seen: string[] = [];
    const options = { ...SECURE, ca: PROGRAM.cert, requestCert: true };
    const secure = createServer(options, ({ url, socket }, response) => {
      seen.push(`${(socket as TLSSocket).getPeerCertificate().subject.CN} ${url?.split('/').at(-1)}`);
      response.end(url?.endsWith('unregister') ? 'user_unregistered' : '{"slot_ends_in_seconds":600}');
    }).listen(0, '127.0.0.1');
    t.after(() => secure.close());
    await once(secure, 'listening');
    const said = await run(
      'import json',
      `given = json.loads(${JSON.stringify(JSON.stringify(given))})`,
      `server = "https://127.0.0.1:${(secure.address() as AddressInfo).port}"`,
      'print(berth_client.acquire(server, "demo", **given).release())',
      'text = dict(given, ca=open(given["ca"]).read())',
      'print(berth_client.acquire(server, "demo", **text).release())',
      'for wrong in ({}, {"ca": given["ca"]}):',
      '    try: berth_client.acquire(server, "demo", **wrong)',
      '    except berth_client.UnreachableError as error: print(error.advice)',
    );
    assert.match(said, /^True\nTrue\n.*Give its certificate as "ca".*\n.*[Gg]ive "cert" and "key"\.$/);
    assert.deepEqual(
      seen,
      ['register', 'unregister', 'register', 'unregister'].map((path) => `program ${path}`),
    );
  });

  test('returns a slot that it has not heard of when it is interrupted', { skip: isWindows() }, async (t) => {
    const plan = ({ path }: { path: string }) =>
      ({ kind: path.endsWith('/register') ? 'hang_after' : 'pass' }) as const;
    const proxy = await openChaosProxy({ target: server.url, plan });
    t.after(() => proxy.close());
    const { child, ended } = start(`berth_client.acquire("${proxy.url}", "demo")`);
    await pollUntil('the slot', async () => (await countInUse(server.url)) === 1 || undefined);
    child.kill('SIGINT');
    const { signal, said } = await ended;
    assert.equal(signal, 'SIGINT');
    assert.match(said, /^Traceback[\s\S]*\nKeyboardInterrupt\n$/);
    assert.equal(said.match(/Traceback|Exception/g)?.length, 1, said);
    assert.equal(await countInUse(server.url), 0);
  });

  test('lets a program that handles a signal decide what it means', { skip: isWindows() }, async () => {
    const { child, ended } = start(
      'signal.signal(signal.SIGTERM, lambda *_: sys.exit(7))',
      'slot = client.acquire()',
      ...WAIT,
    );
    await once(child.stdout, 'data');
    child.kill('SIGTERM');
    assert.equal((await ended).code, 7);
    assert.equal(await countInUse(server.url), 0);
  });

  test('keeps the slot of a parent process', { skip: isWindows() }, async () => {
    const said = await run(
      'slot = client.acquire()',
      'child = os.fork()',
      'if child == 0:',
      '    slot.release()',
      '    sys.exit(0)',
      'os.waitpid(child, 0)',
      'second = client.acquire()',
      'print(second.license["floating_in_use"], slot.release(), second.release())',
    );
    // Newer versions warn of a fork with threads.
    assert.match(said, /^2 True True$/m);
  });

  test('finds what an earlier program borrowed, and gives it back', async () => {
    const both = ['slot = client.acquire()', 'slot.borrow("2h").give_back()', 'print(slot.is_held)'];
    assert.equal(await run(...both), 'False');
    await run('client.acquire().borrow("2h")');
    assert.equal(await countInUse(server.url), 1);
    assert.equal(
      await run('borrow = client.resume()', 'print(borrow.is_valid, borrow.give_back())'),
      'True None',
    );
    assert.equal(await countInUse(server.url), 0);
  });

  test('counts once, and counts later what could not be sent, and never on another server', async (t) => {
    await run('print(client.consume(3, key="job").total)', 'client.consume(3, key="job")');
    assert.equal(await run('print(client.consume(3, key="job").total)'), '3', 'also the next program');
    let isAway = true;
    const plan = () => ({ kind: isAway ? 'cut_before' : 'pass' }) as const;
    const proxy = await openChaosProxy({ target: server.url, plan });
    t.after(() => proxy.close());
    const open = `queue = berth_client.Client("${proxy.url}", "demo").open_queue()`;
    await run(open, 'queue.add(4)');
    await run('queue = client.open_queue()', 'assert queue.flush() and len(queue.list_others()) == 1');
    isAway = false;
    assert.equal(await run(open, 'print(queue.flush(), client.consume(0).total)'), 'True 7');
  });

  test('hears from the server when to ask again', async () => {
    const said = await run(
      'others = [berth_client.Client(os.environ["SERVER"], "demo", f"user-{n}").acquire() for n in range(5)]',
      'try: client.acquire()',
      'except berth_client.DeniedError as error: print(error.retry_after, error.next_free_in > 590)',
    );
    assert.equal(said, '1 True');
  });

  test('takes a feature with the slot', async () => {
    const said = await run(
      'with client.acquire() as slot, slot.feature("render") as feature:',
      '    print(feature.is_held, slot.license["product"])',
      'try: client.acquire().feature("nothing")',
      'except berth_client.DeniedError as error: print(error.code)',
    );
    assert.equal(said, 'True demo\ninvalid_license_feature_code');
  });
});

const VERIFY = `
import json, sys
from berth_client import Expected, Proof, ProofError, Verifier
given = json.loads(sys.argv[1])
for grant in given["grants"]:
    try:
        proof = Proof(grant, given["certificate"], "n")
        Verifier(given["pem"]).verify(proof, Expected("cad", "ada"), 0)
        print("accepted")
    except ProofError:
        print("refused")
`;

/** A compact JWS. */
function signText(header: object, claims: object, key: KeyObject): string {
  const parts = [header, claims].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'));
  const signed = parts.join('.');
  const algorithm = key.asymmetricKeyType === 'rsa' ? 'sha256' : null;
  return `${signed}.${sign(algorithm, Buffer.from(signed), key).toString('base64url')}`;
}

function isWindows(): string | false {
  return process.platform === 'win32' ? 'Windows has neither these signals nor fork' : false;
}

async function listen(child: ChildProcess) {
  let said = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8').on('data', (text: string) => {
      said += text;
    });
  }
  const [code, signal] = await once(child, 'close');
  return { code: code as number | null, signal: signal as NodeJS.Signals | null, said };
}

async function countInUse(url: string): Promise<number> {
  const answer = await fetch(`${url}/api/v4/license?product=demo`);
  return ((await answer.json()) as { floating_in_use: number }).floating_in_use;
}
