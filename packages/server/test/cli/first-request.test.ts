import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { makeTestCertificate } from '../../../../test/support/certificate.ts';
import { temporaryFolder } from '../../../../test/support/server-process.ts';
import { describeFirstRequest, describePlaces } from '../../src/cli/first-request.ts';
import { loadConfig } from '../../src/config.ts';

interface Case {
  readonly url?: string;
  readonly product?: string | null;
  readonly flags?: Readonly<Record<string, string>>;
  readonly platform?: NodeJS.Platform;
}

function describeFor({
  url = 'http://127.0.0.1:8080',
  product = 'demo',
  flags = {},
  platform = 'linux',
}: Case) {
  const { config } = loadConfig({ flags, env: {}, file: null });
  return describeFirstRequest({ url, product, config, platform });
}

/** The request of a server with a certificate for these names. */
function describeTls(t: TestContext, url: string, names: readonly string[]) {
  const folder = temporaryFolder(t);
  const cert = join(folder, 'cert.pem');
  writeFileSync(cert, makeTestCertificate({ names }).cert);
  const said = describeFor({ url, flags: { 'tls-cert': cert, 'tls-key': cert } });
  return said.replaceAll(folder, '/tls').split('\n')[2]?.trim().split('/api')[0];
}

describe('the first request', () => {
  test('is one line for a shell', () => {
    const body = `-H 'Content-Type: application/json' -d '{"product":"demo","user":"ada"}'`;
    const line = `  curl -sS http://127.0.0.1:8080/api/v4/register ${body}\n`;
    assert.equal(describeFor({}), `Take a slot of "demo" for the user "ada":\n\n${line}`);
  });

  test('is quoted for the platform', () => {
    const product = `d'or "x"`;
    assert.match(describeFor({ product }), / -d '\{"product":"d'\\''or \\"x\\"","user":"ada"\}'\n$/);
    assert.match(
      describeFor({ platform: 'win32' }),
      / -d "\{\\"product\\":\\"demo\\",\\"user\\":\\"ada\\"\}"\n$/,
    );
  });

  test('goes to this machine, whatever address the server listens on', () => {
    assert.match(describeFor({ url: 'http://0.0.0.0:81' }), / http:\/\/127\.0\.0\.1:81\/api/);
    assert.match(describeFor({ url: 'http://[::]:81' }), / 'http:\/\/\[::1\]:81\/api\/v4\/register'/);
    assert.match(describeFor({ url: 'http://licenses:80' }), / http:\/\/licenses\/api/);
  });

  test("trusts the server's certificate, and uses a name that is in it", (t) => {
    const cases: readonly (readonly [string, readonly string[], string])[] = [
      ['https://127.0.0.1:443', ['127.0.0.1'], '--cacert /tls/cert.pem https://127.0.0.1'],
      ['https://0.0.0.0:84', ['a.example', '127.0.0.1'], '--cacert /tls/cert.pem https://127.0.0.1:84'],
      [
        'https://0.0.0.0:84',
        ['*.example', 'a.example'],
        '--cacert /tls/cert.pem --resolve a.example:84:127.0.0.1 https://a.example:84',
      ],
      ['https://a.b.example:84', ['*.b.example'], '--cacert /tls/cert.pem https://a.b.example:84'],
      ['https://127.0.0.1:84', ['*.example'], '--insecure https://127.0.0.1:84'],
    ];
    for (const [url, names, expected] of cases) {
      assert.equal(describeTls(t, url, names), `curl -sS ${expected}`);
    }
  });

  test('comes after a token if applications need one', () => {
    const said = describeFor({ flags: { 'auth-clients': 'required' } });
    assert.match(said, /^Create a token with "berth token create my-app --role user"\. /);
    assert.match(said, / -H 'Authorization: Bearer TOKEN' -d /);
  });

  test('needs a license', () => {
    assert.match(describeFor({ product: null }), /"berth license add PRODUCT".*--demo\.$/);
  });
});

test('the first start says what to open in a browser, from where, and where the data is', () => {
  const { config } = loadConfig({ flags: {}, env: {}, file: null, home: '/opt/berth' });
  const describeAt = (url: string) => describePlaces(url, config);
  const data = 'All data is in /opt/berth/data.\n';
  const near = 'http://127.0.0.1:8080 in a browser on this machine';
  assert.equal(describeAt('http://127.0.0.1:8080'), `Open ${near}. ${data}`);
  assert.match(describeAt('http://0.0.0.0:80'), new RegExp(` http://${hostname()} on another one\\. `));
  const far = `http://${hostname()}:8080 on another one`;
  assert.equal(describeAt('http://0.0.0.0:8080'), `Open ${near}, or ${far}. ${data}`);
  assert.equal(describeAt('http://10.0.0.7:8080'), `Open http://10.0.0.7:8080 in a browser. ${data}`);
});
