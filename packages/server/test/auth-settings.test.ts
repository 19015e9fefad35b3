import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConfigError, type ConfigSources, listChanged, loadConfig, showConfig } from '../src/config.ts';

function load(sources: Partial<ConfigSources>) {
  return loadConfig({ flags: {}, env: {}, file: null, home: import.meta.dirname, ...sources });
}

test('the secret for the provider is shown nowhere, and a flag with it causes a warning', () => {
  const { config, warnings } = load({ flags: { 'auth-oidc-client-secret': 'geheim' } });
  assert.equal(config.auth.oidc.clientSecret, 'geheim');
  assert.deepEqual(listChanged(config), { 'auth.oidc.clientSecret': '…' });
  assert.match(
    warnings.join(),
    /^A secret is in --auth-oidc-client-secret .* BERTH_AUTH_OIDC_CLIENT_SECRET_FILE /,
  );
  assert.doesNotMatch(JSON.stringify([showConfig(config), warnings]), /geheim/);
});

test('a provider is asked over TLS, unless it is on this machine', () => {
  const issuers = {
    'https://login.example': true,
    'https://login.example/realms/a': true,
    'http://127.0.0.1:9000': true,
    'http://localhost/a': true,
    'http://[::1]:9000': true,
    'http://login.example': false,
    'http://127.0.0.1.example': false,
    'https://login.example/?a=b': false,
    'https://login.example/#a': false,
    'https://user:geheim@login.example/': false,
    'javascript:alert(1)': false,
    'login.example': false,
  };
  for (const [issuer, isAllowed] of Object.entries(issuers)) {
    const give = () => load({ env: { BERTH_AUTH_OIDC_ISSUER: issuer } });
    if (isAllowed) assert.equal(give().config.auth.oidc.issuer, issuer);
    else assert.throws(give, ConfigError, issuer);
  }
});

test('names of groups in a directory, which contain commas, are separated by semicolons', () => {
  const [first, second] = ['cn=a,dc=example', 'cn=b,dc=example'];
  const { config } = load({ env: { BERTH_AUTH_LDAP_ADMINS: `${first}; ${second}` } });
  assert.deepEqual(config.auth.ldap.admins, [first, second]);
});

test('a directory is only an address, and its filters have a place for what is looked for', () => {
  for (const [variable, text] of [
    ['URL', 'http://dc.example'],
    ['URL', 'ldap://user:geheim@dc.example'],
    ['URL', 'ldap://dc.example/dc=example'],
    ['FILTER', '(uid=name)'],
    ['FILTER', 'uid={name}'],
    ['GROUP_FILTER', '(member={name})'],
  ] as const) {
    assert.throws(() => load({ env: { [`BERTH_AUTH_LDAP_${variable}`]: text } }), ConfigError, text);
  }
});
