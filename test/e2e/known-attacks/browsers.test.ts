import assert from 'node:assert/strict';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { type ConnectionOptions, connect, type TLSSocket } from 'node:tls';
import { makeTestCertificate } from '../../support/certificate.ts';
import { exchange, type RawAnswer, readAnswerFrom } from '../../support/raw-socket.ts';
import { startServerHere } from '../../support/server-here.ts';
import { seedLicenses, temporaryFolder } from '../../support/server-process.ts';
import { testLicense } from '../../support/test-license.ts';

/** What web pages and proxies could do to a server that listens on loopback and is still being set up. */

type Headers = Readonly<Record<string, string>>;

const ALLOWED = 'https://app.example';
const EVIL = 'https://evil.example';
const license = testLicense(1);
let server: Awaited<ReturnType<typeof startServerHere>>;

after(() => server.stop());

const data = temporaryFolder({ after });

before(async () => {
  await seedLicenses(data, [license]);
  const args = ['--http-allowed-origins', ALLOWED, '--http-allowed-hosts', 'Licenses.example.com'];
  server = await startServerHere({ data, args });
});

interface Call {
  readonly method?: string;
  readonly path: string;
  readonly headers?: Headers;
  readonly body?: string;
  readonly version?: '1.0' | '1.1';
}

/** Exactly these headers, and none that a client library would add. */
function ask({ method = 'GET', path, headers = {}, body, version = '1.1' }: Call): Promise<RawAnswer> {
  const all = { host: 'localhost', ...headers, connection: 'close' };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  const length = body === undefined ? '' : `content-length: ${body.length}\r\n`;
  return exchange(
    server.url,
    `${method} ${path} HTTP/${version}\r\n${lines.join('')}${length}\r\n${body ?? ''}`,
  );
}

function codeOf({ text }: RawAnswer): string {
  return (JSON.parse(text) as { code: string }).code;
}

/** What the server knows, asked as curl would ask during setup. */
async function readStatus(path: string): Promise<string> {
  const { status, text } = await ask({ path });
  assert.equal(status, 200, text);
  return text;
}

const readSlots = () => readStatus('/api/admin/registrations');
const readKeys = () => readStatus('/api/admin/keys');

const OLD_SAFARI: Headers = {
  'user-agent':
    'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) ' +
    'Version/14.1 Safari/605.1.15',
  'accept-language': 'en-us',
  'accept-encoding': 'gzip, deflate',
};
const SAFARI_IMAGE: Headers = {
  ...OLD_SAFARI,
  accept: 'image/png,image/svg+xml,image/*;q=0.8,video/*;q=0.8,*/*;q=0.5',
};

describe('a page of another site', () => {
  const borrow = { method: 'POST', path: '/api/v4/borrow', body: '{"user": "drive-by"}' };
  const pages: Readonly<Record<string, Headers>> = {
    'a modern browser': { origin: EVIL, 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'no-cors' },
    'an older browser': { origin: EVIL, ...OLD_SAFARI },
    'a sandboxed frame': { origin: 'null', 'sec-fetch-site': 'cross-site' },
    'no origin': { 'sec-fetch-site': 'cross-site' },
    'another port of this machine': { origin: 'http://localhost:9', 'sec-fetch-site': 'same-site' },
    'a name that begins like an allowed one': { origin: `${ALLOWED}.evil.example` },
  };
  for (const [how, headers] of Object.entries(pages)) {
    test(`cannot borrow a slot by a simple POST: ${how}`, async () => {
      const before = await readSlots();
      const answer = await ask({ ...borrow, headers: { 'content-type': 'text/plain', ...headers } });
      assert.deepEqual([answer.status, codeOf(answer)], [403, 'origin_not_allowed'], answer.text);
      assert.match(answer.text, /http\.allowedOrigins/);
      assert.equal(answer.headers.get('access-control-allow-origin'), null);
      assert.equal(await readSlots(), before);
    });
  }

  test('gets no permission from a preflight', async () => {
    const asks = { origin: EVIL, 'access-control-request-method': 'POST' };
    for (const headers of [asks, { ...asks, 'access-control-request-private-network': 'true' }]) {
      const answer = await ask({ method: 'OPTIONS', path: '/api/v4/borrow', headers });
      assert.deepEqual([answer.status, codeOf(answer)], [403, 'origin_not_allowed']);
      const told = [...answer.headers.keys()].filter((name) => name.startsWith('access-control-'));
      assert.deepEqual(told, []);
    }
  });
});

describe('a name that was rebound to this machine', () => {
  const browsers: Readonly<Record<string, Headers>> = {
    'a modern browser': { 'sec-fetch-site': 'same-origin', 'sec-fetch-mode': 'cors' },
    'a link that was followed': { 'sec-fetch-site': 'none', 'sec-fetch-mode': 'navigate' },
    'an older browser': OLD_SAFARI,
  };
  for (const [how, headers] of Object.entries(browsers)) {
    test(`does not reveal the license key: ${how}`, async () => {
      for (const host of [
        'evil.example',
        'evil.example:8080',
        'localhost.evil.example',
        '127.0.0.1.evil.example',
      ]) {
        const answer = await ask({ path: '/api/v4/license', headers: { ...headers, host } });
        assert.deepEqual([answer.status, codeOf(answer)], [403, 'host_not_allowed'], answer.text);
        assert.match(answer.text, /http\.allowedHosts/);
        assert.ok(!answer.text.includes(license.key));
      }
    });
  }

  test('does not lend a slot either', async () => {
    const headers = { host: 'evil.example', origin: 'http://evil.example', 'sec-fetch-site': 'same-origin' };
    const call = { method: 'POST', path: '/api/v4/register', body: '{"user": "rebound"}', headers };
    assert.equal(codeOf(await ask(call)), 'host_not_allowed');
    assert.doesNotMatch(await readSlots(), /rebound/);
  });
});

describe('a page in the browser of the administrator, during setup', () => {
  const attacks = [
    '/api/v4/setKeys?apiKey=stolen&sharedKey=stolen',
    '/api/v4/addProduct?product=x&licenseKey=x',
    '/api/v4/unregister/all',
    '/api/admin/status',
  ];
  test('cannot administer by an image that an older Safari loads', async () => {
    const before = await readKeys();
    for (const path of attacks) {
      const answer = await ask({ path, headers: SAFARI_IMAGE });
      assert.equal(answer.status, 401, path);
      assert.match(
        answer.text,
        /does not count as local because it has the header \\"(user-agent|accept-language)\\"/,
      );
    }
    assert.equal(await readKeys(), before);
  });

  const signs: Headers = {
    origin: EVIL,
    referer: EVIL,
    cookie: 'a=b',
    'sec-fetch-site': 'cross-site',
    'sec-fetch-dest': 'image',
    'sec-fetch-user': '?1',
    'sec-fetch-mode': 'no-cors',
    'sec-ch-ua': '"Chromium";v="130"',
    'sec-ch-ua-mobile': '?0',
    'accept-language': 'de-DE,de;q=0.9',
    'user-agent': 'Mozilla/5.0 (X11; Linux x86_64; rv:60.0) Gecko/20100101 Firefox/60.0',
  };
  for (const [name, value] of Object.entries(signs)) {
    test(`is recognized by ${name}`, async () => {
      const answer = await ask({ path: '/api/v4/setKeys?apiKey=x', headers: { [name]: value } });
      assert.equal(answer.status, 401);
      assert.ok(answer.text.includes(`the header \\"${name}\\", which browsers send`), answer.text);
    });
  }
});

describe('a proxy on the machine, during setup', () => {
  const names = [
    'Forwarded',
    'Via',
    'X-Forwarded-For',
    'X-Forwarded-Host',
    'X-Real-IP',
    'X-Vercel-Id',
    'X-Nginx-Proxy',
    'X-Originating-IP',
    'X-ProxyUser-Ip',
    'X-Original-Method',
    'X-Scheme',
    'Tailscale-User-Login',
    'X-BlueCoat-Via',
    'X-Cloud-Trace-Context',
    'Front-End-Https',
    'Max-Forwards',
    'X-Client-IP',
    'X-Cluster-Client-IP',
    'True-Client-IP',
    'CF-Connecting-IP',
    'CF-Ray',
    'CDN-Loop',
    'Fastly-Client-IP',
    'Akamai-Origin-Hop',
    'X-Envoy-External-Address',
    'X-Azure-ClientIP',
    'X-ARR-LOG-ID',
    'X-Amzn-Trace-Id',
    'Fly-Client-IP',
    'Proxy-Connection',
  ];
  for (const name of names) {
    test(`cannot administer for others: ${name}`, async () => {
      const answer = await ask({ path: '/api/admin/status', headers: { [name]: '203.0.113.9' } });
      assert.equal(answer.status, 401);
      assert.ok(answer.text.includes(`\\"${name.toLowerCase()}\\", which proxies send`), answer.text);
    });
  }

  test('cannot administer for others: HTTP/1.0, with the default nginx', async () => {
    const answer = await ask({ path: '/api/admin/status', version: '1.0' });
    assert.equal(answer.status, 401);
    assert.match(answer.text, /it is HTTP\/1\.0/);
  });
});

describe('programs', () => {
  const programs: Readonly<Record<string, Headers>> = {
    curl: { 'user-agent': 'curl/8.5.0', accept: '*/*' },
    'Windows PowerShell': {
      'user-agent': 'Mozilla/5.0 (Windows NT; Windows NT 10.0; en-US) WindowsPowerShell/5.1.19041.4894',
    },
    PowerShell: {
      'user-agent': 'Mozilla/5.0 (Windows NT 10.0; Microsoft Windows 10.0.22631; en-US) PowerShell/7.4.5',
      'accept-encoding': 'gzip, deflate, br',
    },
    Python: {
      'user-agent': 'python-requests/2.32.3',
      'accept-encoding': 'gzip, deflate',
      accept: '*/*',
      connection: 'keep-alive',
    },
    Go: { 'user-agent': 'Go-http-client/1.1', 'accept-encoding': 'gzip' },
    'a program without a name': {},
  };
  for (const [name, headers] of Object.entries(programs)) {
    test(`on the machine can administer during setup: ${name}`, async () => {
      assert.equal((await ask({ path: '/api/admin/status', headers })).status, 200);
    });

    test(`use licenses under any name: ${name}`, async () => {
      const elsewhere = { ...headers, host: 'an-alias-of-ours.example' };
      const { status, text } = await ask({ path: '/api/v4/license', headers: elsewhere });
      assert.deepEqual([status, text.includes(license.key)], [200, true]);
      const body = '{"user": "ann"}';
      const register = { method: 'POST', path: '/api/v4/register', headers: elsewhere, body };
      assert.equal((await ask(register)).status, 200);
    });
  }

  test("on the machine can administer during setup: Node's own fetch", async () => {
    assert.equal((await fetch(`${server.url}/api/admin/status`)).status, 200);
    assert.equal((await fetch(`${server.url}/api/v4/license`)).status, 200);
  });

  test('that call themselves Mozilla without being browsers use licenses under any name', async () => {
    const headers = { host: 'an-alias.example', 'user-agent': 'Mozilla/5.0', 'accept-language': 'de,en,*' };
    assert.equal((await ask({ path: '/api/v4/license', headers })).status, 200);
  });
});

describe('a page of an allowed origin', () => {
  const page = { origin: ALLOWED, 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'cors' };

  test('gets permission from a preflight, and reads answers and refusals', async () => {
    const asks = {
      'access-control-request-method': 'POST',
      'access-control-request-private-network': 'true',
    };
    const path = '/api/v4/register';
    const preflight = await ask({ method: 'OPTIONS', path, headers: { ...page, ...asks } });
    assert.equal(preflight.status, 204);
    assert.equal(preflight.headers.get('access-control-allow-methods'), 'POST');
    assert.match(preflight.headers.get('access-control-allow-headers') ?? '', /content-type/);
    assert.equal(preflight.headers.get('access-control-allow-private-network'), 'true');
    const lent = await ask({ method: 'POST', path, headers: page, body: '{"user": "page"}' });
    const refused = await ask({ method: 'POST', path, headers: page, body: '{' });
    assert.deepEqual([lent.status, refused.status], [200, 400]);
    for (const { headers } of [preflight, lent, refused]) {
      assert.equal(headers.get('access-control-allow-origin'), ALLOWED);
      assert.equal(headers.get('access-control-allow-credentials'), null);
      assert.equal(headers.get('vary'), 'Origin');
    }
  });

  test('cannot administer', async () => {
    const asks = { ...page, 'access-control-request-method': 'GET' };
    const path = '/api/admin/status';
    const preflight = await ask({ method: 'OPTIONS', path, headers: asks });
    const answer = await ask({ path, headers: page });
    assert.deepEqual([preflight.status, answer.status], [204, 401]);
    for (const { headers } of [preflight, answer]) {
      assert.equal(headers.get('access-control-allow-origin'), null);
    }
  });
});

describe('our own pages', () => {
  test('are served under an address, localhost and allowed names, and to whoever types them', async () => {
    for (const host of ['127.0.0.1:8080', '[::1]:8080', 'LOCALHOST.', 'licenses.example.com:443']) {
      const headers = { host, 'sec-fetch-site': 'same-origin', ...OLD_SAFARI };
      assert.equal((await ask({ path: '/api/v4/license', headers })).status, 200, host);
    }
    const typed = { 'sec-fetch-site': 'none', 'sec-fetch-mode': 'navigate' };
    assert.equal((await ask({ path: '/api/v4/license', headers: typed })).status, 200);
    const elsewhere = { ...typed, host: 'any.example' };
    for (const path of ['/', '/api/v4/health', '/api/v4/docs', '/api/v4/docs.css']) {
      assert.equal((await ask({ path, headers: elsewhere })).status, 200, path);
    }
  });
});

describe('a server with TLS', () => {
  let secure: Awaited<ReturnType<typeof startServerHere>>;

  after(() => secure.stop());

  const folder = temporaryFolder({ after });

  before(async () => {
    const names = ['localhost', 'licenses.tls.example', '*.wild.example'];
    const facts = { names, issuer: makeTestCertificate(), keyType: 'rsa' } as const;
    const { cert, key } = makeTestCertificate(facts);
    writeFileSync(join(folder, 'cert.pem'), cert);
    writeFileSync(join(folder, 'key.pem'), key);
    const args = ['--tls-cert', join(folder, 'cert.pem'), '--tls-key', join(folder, 'key.pem'), '--demo'];
    secure = await startServerHere({ data: join(folder, 'data'), args });
  });

  async function shakeHands(options: ConnectionOptions = {}): Promise<TLSSocket> {
    const { hostname: host, port } = new URL(secure.url);
    const socket = connect({ host, port: Number(port), rejectUnauthorized: false, ...options });
    await once(socket, 'secureConnect');
    return socket;
  }

  async function askAs(host: string): Promise<RawAnswer> {
    const socket = await shakeHands();
    socket.write(`GET /api/v4/license HTTP/1.1\r\nHost: ${host}\r\nSec-Fetch-Site: same-origin\r\n\r\n`);
    return readAnswerFrom(socket);
  }

  test('accepts no cipher without forward secrecy', async () => {
    for (const ciphers of ['AES128-GCM-SHA256', 'AES256-GCM-SHA384', 'AES128-SHA']) {
      await assert.rejects(shakeHands({ maxVersion: 'TLSv1.2', ciphers }), /handshake failure/, ciphers);
    }
    const ciphers = 'ECDHE-RSA-AES128-GCM-SHA256';
    (await shakeHands({ maxVersion: 'TLSv1.2', ciphers })).destroy();
  });

  test('tells browsers to stay with TLS, and one without does not', async () => {
    const { headers } = await askAs('localhost');
    assert.match(headers.get('strict-transport-security') ?? '', /^max-age=31536000\b/);
    const plain = await ask({ path: '/api/v4/license' });
    assert.equal(plain.headers.get('strict-transport-security'), null);
  });

  test('can be used by browsers under the names in its certificate', async () => {
    for (const host of ['licenses.tls.example:8443', 'a.wild.example']) {
      assert.equal((await askAs(host)).status, 200, host);
    }
    for (const host of ['tls.example', 'wild.example', 'a.b.wild.example', 'licenses.example.com']) {
      assert.equal((await askAs(host)).status, 403, host);
    }
  });
});
