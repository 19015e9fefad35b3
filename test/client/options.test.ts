import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { test } from 'node:test';
import { inspect } from 'node:util';
import { Client, type ClientOptions } from '../../packages/client/src/client.ts';
import { acquire } from '../../packages/client/src/main.ts';
import { connect as connectOnPage } from '../../packages/client/src/web.ts';
import { createRandom } from '../support/random.ts';
import { rsaKeysOf } from '../support/rsa-keys.ts';
import { Machine } from './simulation/machine.ts';
import { World } from './simulation/world.ts';

const ANSWER = JSON.stringify({
  total_consumptions: 1,
  license_id: 7,
  floating_timeout: 10,
  borrowed_until: '2026-12-31T00:00:00Z',
});
const asked: string[] = [];
const sent: (string | undefined)[] = [];
const bodies: string[] = [];
const { environment } = new Machine(new World(), {
  name: 'ws-7',
  random: createRandom(1),
  network: ({ url, headers, body }, done) => {
    if (url.endsWith('/jwks.json')) return done({ status: 200, text: '{"keys":[]}', date: null });
    asked.push(url);
    bodies.push(body);
    sent.push(headers.authorization);
    done({ status: 200, text: ANSWER, date: null });
  },
});

function connect(options: Partial<ClientOptions>): Client {
  return new Client(environment, { server: 'http://berth.test', product: 'cad', ...options });
}

test('no options at all are refused with a sentence', async () => {
  for (const nothing of [undefined, null, 'http://berth.test'] as unknown as Parameters<typeof acquire>) {
    const refused = { code: 'invalid_option', message: 'There are no options.', advice: /server, product/ };
    await assert.rejects(acquire(nothing), refused);
  }
});

test('an option may be undefined', async () => {
  const names = [
    'user',
    'userInfo',
    'licenseId',
    'token',
    'vendorKey',
    'requestTimeout',
    'renewEvery',
  ] as const;
  const nothing = Object.fromEntries([...names, 'storage', 'device', 'ca'].map((name) => [name, undefined]));
  await connect(nothing).consume(1, { feature: undefined, key: undefined, retryFor: undefined });
  assert.match(asked.pop() ?? '', /add_consumption$/);
  assert.equal(sent.pop(), undefined);
});

test('a pace of less than ten seconds is refused', () => {
  assert.ok(connect({ renewEvery: '10s' }));
  for (const renewEvery of ['9s', 9999, 0]) {
    const refused = { code: 'invalid_option', message: /"renewEvery" is too short/, advice: /"10s"/ };
    assert.throws(() => connect({ renewEvery }), refused);
  }
});

test('certificates are refused if they cannot be used', () => {
  const server = 'https://berth.test';
  for (const [options, message, advice] of [
    [{ server, cert: 'x' }, /"cert", but not the other half/, /both "cert" and "key"/],
    [{ server, ca: ' ' }, /"ca" is empty/, /name of a file/],
    [
      { server: [server, 'http://two.test'], ca: 'x' },
      /"ca" cannot be used without TLS/,
      /two\.test.*https:/,
    ],
  ] as const) {
    assert.throws(() => connect(options), { code: 'invalid_option', message, advice });
  }
  assert.throws(() => connectOnPage({ server, product: 'cad', ca: 'x' }), {
    code: 'invalid_option',
    message: /browser/,
  });
});

test('a queue refuses listeners for events that do not exist', () => {
  assert.throws(
    () =>
      connect({})
        .openQueue()
        .on('send' as 'sent', () => {}),
    { advice: /sent, refused/ },
  );
});

test('an option that does not exist is refused, with the one that is meant', async () => {
  const refuse = (work: unknown, advice: RegExp) =>
    assert.rejects(async () => (work as () => unknown)(), { code: 'invalid_option', advice });
  const client = connect({});
  const server = 'http://berth.test';
  await refuse(() => connect({ renewevery: '10s' } as object), /Did you mean "renewEvery"/);
  await refuse(() => connect({ wait: '5m' } as object), /The options are server, product/);
  await refuse(() => acquire({ server, product: 'cad', waiting: '5m' } as never), /"wait"/);
  await refuse(() => client.acquire({ onwait: () => {} } as object), /"onWait"/);
  await refuse(() => client.borrow({ untill: '1d' } as object), /"until"/);
  await refuse(() => client.consume(1, { feture: 'export' } as object), /"feature"/);
  await refuse(() => client.openQueue().add(1, { id: 'job-1' } as object), /The options are feature, key/);
  assert.deepEqual(asked, []);
});

test('a borrow ends at a date, after a time, or at a date-time with its zone', async () => {
  const borrow = async (until: unknown) => {
    await connect({ user: 'ada' }).borrow({ until: until as string });
    return JSON.parse(bodies.pop() ?? '').borrowed_until;
  };
  const end = new Date(environment.readWallMs() + 7_200_000).toISOString();
  for (const until of [new Date(end), end, end.replace('Z', '+00:00'), '2h', 7_200_000]) {
    assert.equal(await borrow(until), end);
  }
  assert.equal(await borrow('2026-12-24T18:00+02:00'), '2026-12-24T16:00:00.000Z');
  for (const until of ['2026-12-24', '2026-12-24T18:00:00', '2026-13-24T18:00:00Z', new Date('x'), 'soon']) {
    const refused = { code: 'invalid_option', message: /"until" is not a date/, advice: /Date, .*zone/ };
    await assert.rejects(borrow(until), refused);
  }
});

test('a listener that is not a function is refused', () => {
  for (const nothing of [undefined, null, 'log'] as unknown as (() => void)[]) {
    const refused = { code: 'invalid_option', message: /"sent" is not a function/, advice: /on\('sent'/ };
    assert.throws(() => connect({}).openQueue().on('sent', nothing), refused);
  }
});

test('an empty user is refused at once', () => {
  for (const user of ['', ' \t']) {
    assert.throws(() => connect({ user }), { code: 'invalid_option', message: /user is empty/ });
  }
});

test('an empty device is refused at once', () => {
  assert.throws(() => connect({ device: ' ' }), { code: 'invalid_option', message: /device is empty/ });
});

test('a token is trimmed, or refused by name without being shown', async () => {
  const outer = ['\n', '\r\n', ' \t'];
  for (const end of outer) {
    await connect({ token: `${end}secret-7${end}` }).consume();
    assert.equal(sent.pop(), 'Bearer secret-7');
    await connect({ token: async () => `secret-8${end}` }).consume();
    assert.equal(sent.pop(), 'Bearer secret-8');
  }
  const refused = { code: 'invalid_option', message: /"token"/ };
  for (const token of ['secret\n7', 'secret-\u0000', 'secret-ö', 'secret\u20287', ' ', 7] as string[]) {
    assert.throws(() => connect({ token }), refused);
    await assert.rejects(connect({ token: () => token }).consume(), refused);
    assert.throws(
      () => connect({ token }),
      (error: Error) => !inspect(error).includes('secret'),
    );
  }
});

test('an address with a password is refused without being shown', () => {
  const shown = (server: string) => {
    try {
      connect({ server });
    } catch (error) {
      assert.equal((error as { code?: string }).code, 'invalid_option');
      return inspect(error);
    }
    throw new Error(`${server} is accepted`);
  };
  assert.match(shown('http://ada:secret@berth.test'), /user or a password/);
  for (const server of [
    'http://ada:secret@berth.test',
    'ftp://ada:secret@berth.test',
    'http://ada:secret@berth.test:port',
    'ada:secret@berth.test',
    'http://berth.test/?token=secret',
    'http://berth.test/#secret',
  ]) {
    assert.doesNotMatch(shown(server), /secret/, server);
  }
  assert.match(shown('berth.test:8080'), /"berth.test:8080" is not an address/);
});

test('a key that is not one of a vendor is refused at once', () => {
  const { publicKey, privateKey } = rsaKeysOf('vendor');
  const pem = publicKey.export({ type: 'spki', format: 'pem' }).toString();
  assert.ok(connect({ vendorKey: pem }));
  assert.ok(connect({ vendorKey: pem.replaceAll('\n', '\r\n') }));
  assert.ok(connect({ vendorKey: [pem, `${pem}\n${pem}`] }));
  const keys: readonly unknown[] = [
    '',
    [],
    [pem, 'no key'],
    `${pem}no key`,
    'no key',
    null,
    7,
    pem.split('\n').toSpliced(2, 1).join('\n'),
    pem.replace(/\w\n-----END/, 'ö\n-----END'),
    privateKey.export({ type: 'pkcs8', format: 'pem' }),
    generateKeyPairSync('ed25519').publicKey.export({ type: 'spki', format: 'pem' }),
  ];
  for (const vendorKey of keys) {
    const options = { vendorKey } as ClientOptions;
    assert.throws(() => connect(options), { code: 'invalid_option', message: /not an RSA public key/ });
  }
});

test('an address may have a prefix, and that of the API is not doubled', async () => {
  for (const end of ['', '/', '/api/v4', '/api/v4/']) {
    await connect({ server: `http://berth.test/berth${end}` }).consume();
    assert.equal(asked.pop(), 'http://berth.test/berth/api/v4/add_consumption');
  }
});

test('a token function that fails is named, with its error', async () => {
  const cause = new Error('The keyring is locked');
  const token = () => Promise.reject(cause);
  await assert.rejects(connect({ token }).consume(1, { retryFor: 0 }), {
    code: 'unreachable',
    message: 'The function "token" failed: The keyring is locked.',
    advice: /"token"/,
    cause,
  });
});
