import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { pino } from 'pino';
import { composeDirectory, composeSignIn } from '../../packages/server/src/compose/compose-sign-in.ts';
import { loadConfig } from '../../packages/server/src/config.ts';
import { systemClock } from '../../packages/server/src/store/clock.ts';
import type { Store } from '../../packages/server/src/store/store.ts';
import { PROJECT } from '../support/clone.ts';
import { temporaryFolder } from '../support/server-process.ts';

const PAGE = readFileSync(join(PROJECT, 'docs/signing-in.md'), 'utf8');

test('docs/signing-in.md has settings with which people can sign in', (t) => {
  const blocks = Array.from(PAGE.matchAll(/^( *)```yaml\n(.*?)^ *```$/gms), ([, indent = '', text = '']) =>
    text.replaceAll(new RegExp(`^${indent}`, 'gm'), ''),
  );
  const names = blocks.map((text) => {
    const file = join(temporaryFolder(t), 'berth.yaml');
    writeFileSync(file, text);
    const { config, warnings } = loadConfig({ flags: {}, env: {}, file });
    assert.deepEqual(warnings, []);
    const { oidc, ldap } = config.auth;
    assert.ok(oidc.admins.length + ldap.admins.length > 0, text);
    const people = composeDirectory(config, systemClock, pino()) === null ? null : ldap.url;
    const store = {} as Store;
    return composeSignIn(store, config, systemClock, store).name ?? people;
  });
  const directories = ['ldaps://ldap.example.com', 'ldaps://dc.example.com'];
  assert.deepEqual(names, ['Keycloak', 'Microsoft', 'Okta', 'Google', ...directories]);
});
