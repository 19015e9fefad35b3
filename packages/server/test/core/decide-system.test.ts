import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { systemModuleOf } from '../../src/core/decide-system.ts';
import { HOUR_MS, plus } from '../../src/core/nouns/instant.ts';
import { NO_RULES } from '../../src/core/rules/rules.ts';
import type { SystemCommand } from '../../src/core/system-command.ts';
import type { SystemFacts, SystemNeeds } from '../../src/core/system-module.ts';
import { denying, exampleLicense, NOW, setRules } from './examples.ts';
import { exampleChannel } from './notify/example-channel.ts';

test('starts and stops of the server are recorded', () => {
  const event = { kind: 'server_started', version: '1.2.3' } as const;
  const command = { kind: 'record_event', event } as const;
  const { outcome, changes, events } = systemModuleOf(command).decide(command, {}, NOW);
  assert.deepEqual([outcome, changes, events], [{ kind: 'done', count: 1 }, [], [event]]);
});

const by = 'ada';
const secret = { passwordHash: 'h', oneTime: false };
const NOTICE = { kind: 'cloud_held_to_nonces', fingerprint: 'f' } as const;

const COMMANDS: { [K in SystemCommand['kind']]: Extract<SystemCommand, { kind: K }> } = {
  create_account: { kind: 'create_account', name: 'bob', role: 'user', ...secret, by },
  set_password: { kind: 'set_password', account: 'bob', ...secret, keptToken: null, by },
  set_role: { kind: 'set_role', account: 'bob', role: 'user', by },
  remove_account: { kind: 'remove_account', account: 'bob', by },
  set_second_factor: {
    kind: 'set_second_factor',
    account: 'bob',
    secret: 's',
    usedStep: 1,
    recoveryCodes: [],
    checkedHash: 'h',
    keptToken: null,
    by,
  },
  remove_second_factor: { kind: 'remove_second_factor', account: 'bob', proof: null, by },
  sign_in: { kind: 'sign_in', account: 'bob', address: '::1', tokenHash: 't', checkedHash: 'h' },
  sign_in_person: {
    kind: 'sign_in_person',
    account: 'oidc:bob',
    subject: 'b',
    address: '::1',
    session: { tokenHash: 't', role: 'viewer' },
    reason: null,
    isBrowser: true,
    attempt: 'a',
  },
  use_token: { kind: 'use_token', tokenHash: 't' },
  create_token: { kind: 'create_token', tokenHash: 't', name: 'n', role: 'user', days: 1, by },
  revoke_token: { kind: 'revoke_token', tokenId: 't', by },
  record_event: { kind: 'record_event', event: { kind: 'server_stopped', version: '1' } },
  open_request: {
    kind: 'open_request',
    requestId: 'r',
    request: 'activation',
    product: null,
    licenseKey: null,
    by,
  },
  number_usage: { kind: 'number_usage', by },
  bind_hardware: { kind: 'bind_hardware', hardwareId: 'here', isChosen: true },
  accept_clock: { kind: 'accept_clock', by },
  reset_clock: { kind: 'reset_clock', by },
  start_test_clock: { kind: 'start_test_clock' },
  advance_test_clock: { kind: 'advance_test_clock', millis: 1 },
  set_cloud_keys: {
    kind: 'set_cloud_keys',
    apiKey: 'a',
    sharedKey: 's',
    fingerprints: { apiKey: 'f', sharedKey: 'f' },
    by,
  },
  rotate_master_key: { kind: 'rotate_master_key', newKey: Uint8Array.of(1), newFingerprint: 'new', by },
  rotate_grant_key: { kind: 'rotate_grant_key', kid: 'k2', privateKey: 'p', by },
  set_rules: setRules(denying({ users: ['ada'] })),
  refresh_groups: { kind: 'refresh_groups', basedOn: 0, answers: [{ dn: 'cn=cad', members: ['ada'] }] },
  sample_reservations: {
    kind: 'sample_reservations',
    samples: [{ product: 'cad', feature: '', rule: 'reserve 2 for a', reserved: 2, unused: 1 }],
  },
  set_webhook_secret: { kind: 'set_webhook_secret', secret: 's', fingerprint: 'f', by },
  put_channel: { kind: 'put_channel', channel: exampleChannel(), by },
  remove_channel: { kind: 'remove_channel', name: 'ops', by },
  change_settings: { kind: 'change_settings', changes: [{ name: 'page.name', value: 'K', shown: 'K' }], by },
  add_bar: { kind: 'add_bar', bar: { kind: 'user', pattern: 'fay', note: null }, by },
  remove_bar: { kind: 'remove_bar', bar: { kind: 'user', pattern: 'fay' }, by },
  note: { kind: 'note', notice: NOTICE },
  restore_backup: {
    kind: 'restore_backup',
    event: { kind: 'backup_restored', madeAt: NOW, madeBy: '1', replacedAt: null, by },
    givenBack: [],
  },
  set_cursor: { kind: 'set_cursor', follower: 'webhook', position: { seq: 1, index: 0 } },
  sign_heads: { kind: 'sign_heads' },
  thin_audit: { kind: 'thin_audit', before: NOW, chain: null, by },
  forget_user: { kind: 'forget_user', user: 'bob', by },
};

const ACCOUNT = {
  role: 'admin',
  products: null,
  passwordHash: 'h',
  oneTime: null,
  secondFactor: null,
} as const;

const EVERYTHING: SystemFacts = {
  isSetUp: false,
  usageSequence: 3,
  testClockMs: null,
  hardwareId: 'elsewhere',
  rules: NO_RULES,
  written: { text: '', writtenIn: 0, ages: [] },
  account: ACCOUNT,
  administrators: 2,
  token: null,
  notedValue: null,
  cursor: null,
  settings: [],
  masterKeyFingerprint: 'old',
  grantKeys: [{ kid: 'k1', privateKey: 'p', createdAt: NOW, endsAt: null }],
  channels: [exampleChannel()],
  clock: { jump: { direction: 'ahead', seenAt: NOW, gapMs: HOUR_MS }, wall: plus(NOW, HOUR_MS) },
  licenses: [exampleLicense()],
  heads: { isSigned: false, heads: [[0, 1, 'aa']] },
  chains: [{ chain: 0, thinnedTo: 0, oldTo: 4, isWhole: true, folded: null }],
  reset: { to: plus(NOW, -HOUR_MS), licenses: [] },
  namedRecords: 2,
};

const FREE: readonly string[] = ['isSetUp', 'usageSequence', 'testClockMs', 'hardwareId', 'rules'];

/** What a store loads for a need. */
const LOADED: { readonly [N in keyof SystemNeeds]-?: readonly (keyof SystemFacts)[] } = {
  account: ['account', 'administrators'],
  token: ['token'],
  notice: ['notedValue'],
  cursor: ['cursor'],
  settings: ['settings'],
  masterKey: ['masterKeyFingerprint'],
  grantKeys: ['grantKeys'],
  channels: ['channels'],
  clock: ['clock'],
  licenses: ['licenses'],
  heads: ['heads'],
  chains: ['chains'],
  reset: ['reset'],
  historyOf: ['namedRecords'],
  written: ['written'],
};

describe('a decision on the server reads only facts that it asked for', () => {
  for (const [kind, command] of Object.entries(COMMANDS)) {
    test(kind, () => {
      const module = systemModuleOf(command);
      const asked = Object.keys(module.needs(command)) as (keyof SystemNeeds)[];
      const loaded = [...FREE, ...asked.flatMap((need) => LOADED[need])];
      const facts = new Proxy(EVERYTHING, {
        get(target, name) {
          assert.ok(loaded.includes(String(name)), `${String(name)} was not asked for`);
          return Reflect.get(target, name);
        },
      });
      module.decide(command, facts, NOW);
    });
  }
});
