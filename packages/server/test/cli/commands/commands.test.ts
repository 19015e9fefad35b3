import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AdminClient } from '../../../src/cli/admin-client.ts';
import type { Flags } from '../../../src/cli/command.ts';
import { COMMANDS } from '../../../src/cli/commands/commands.ts';
import { InputError } from '../../../src/cli/read-secrets.ts';

const [GREEN, RED, DEFAULT] = ['\u001b[32m', '\u001b[31m', '\u001b[39m'];

const callOf = (words: string) => `./berth ${words}`;

const STATUS = {
  version: '1.2.3',
  url: 'http://127.0.0.1:8080',
  uptime_seconds: 7500,
  tls: null,
  data: '/data',
  database: null,
  leader: true,
  healthy: true,
  store: { engine: 'SQLite 3', schema_version: 1, licenses: 2, registrations: 3 },
  hardware_id: 'H',
  identity_key: 'I',
  master_key: { fingerprint: 'M', file: '/data/master.key' },
  cloud: { state: 'not_configured', pending: 0, reports_under_way: 0, reports_uncertain: 0 },
  webhooks: { state: 'off', dropped: 0 },
  channels: [{ name: 'ops', state: 'failing', failing_at: 'noon', error: 'it hangs' }],
  syslog: { state: 'ok', delivered_at: 'noon', dropped: 0 },
  events_file: { state: 'off', dropped: 0 },
  backup: { last_at: null, due_at: null, failing_at: null },
  clock: { jump: null, jump_at_start: null },
};

test('rules are shown with the age of their groups in the directory', () => {
  const group = {
    group: 'cad',
    directory: 'cn=cad',
    members: 2,
    answered_at: 'noon',
    problem: 'It is away.',
  };
  const facts = { revision: 3, text: 'deny: {}', by: 'ada', at: 'noon', file: null, file_error: null };
  const said = show('rules show', { ...facts, warnings: [], rules: [], directory_groups: [group] });
  assert.match(said, /cad +2 +noon +It is away\./);
  assert.equal(show('rules members', { group: 'cad', members: ['ann', 'bob'] }), 'ann\nbob');
});

test('the first line of a status says whether the server runs, and the exit code too', () => {
  const say = (facts: object) => {
    const status = { ...STATUS, ...facts };
    const command = COMMANDS.find(({ words }) => words === 'status');
    assert.ok(command !== undefined && 'isFailure' in command);
    return [show('status', status).split('\n')[0], command.isFailure?.(status as never)];
  };
  const [running, stopped, sick] = [say({}), say({ url: null }), say({ healthy: false })];
  assert.deepEqual(running, [`${GREEN}Running at http://127.0.0.1:8080 for 2 hours.${DEFAULT}`, false]);
  assert.deepEqual(stopped, [`${RED}Not running.${DEFAULT} This is what its data says:`, true]);
  assert.match(String(sick[0]), /Running at .*, but the store does not work/);
  assert.equal(sick[1], true);
});

test('a status is a summary in sentences', () => {
  const cloud = {
    ...STATUS.cloud,
    state: 'failing',
    failing_at: 'noon',
    error: { message: 'No.' },
    pending: 7,
  };
  const text = show('status', { ...STATUS, cloud });
  assert.match(text, /^cloud +does not work since noon: No\.; 7 not reported yet$/m);
  assert.match(text, /^channels +ops failing since noon: it hangs$/m);
  assert.match(text, /^syslog +ok, last event delivered at noon$/m);
  assert.doesNotMatch(text, /^events file/m);
  assert.match(text, /^backup +none was made yet$/m);
  assert.match(text, /^clock +agrees with the wall clock$/m);
  assert.doesNotMatch(text, /^\w+\.\w+|undefined|null/m);
});

for (const [direction, advice] of [
  ['ahead', 'If the wall clock is correct, run "./berth clock accept".'],
  ['behind', 'If the clock was wrong before and is correct now, run "./berth clock reset".'],
] as const) {
  test(`a clock that jumped ${direction} is shown with what to do`, () => {
    const clock = {
      server_at: '2026-11-15T12:00:00.000Z',
      wall_at: '2026-11-15T13:00:00.000Z',
      ahead_ms: 0,
      jump: { direction, seen_at: '2026-11-15T12:00:00.000Z' },
      jump_at_start: null,
    };
    assert.ok(show('clock', clock).endsWith(`\n${advice}`));
    assert.ok(show('status', { ...STATUS, clock }).endsWith(`\n${advice}`));
  });
}

function show(words: string, body: object): string {
  const command = COMMANDS.find((one) => one.words === words);
  assert.ok(command !== undefined && 'show' in command);
  return command.show(body as never, callOf, {});
}

const PRODUCT = 'Name the "product": this server has several, or none.';

/** A server without a cloud, which refuses whatever it is sent. */
const client = {
  get: async () => ({
    ok: true,
    body: { cloud: { state: 'not_configured' }, registrations: [], users: [], next: null } as never,
  }),
  post: async () => ({ ok: false, body: { code: 'missing_parameters', message: PRODUCT } as never }),
} as unknown as AdminClient;

async function refusalOf(words: string, args: readonly string[], flags: Flags, lines: readonly string[]) {
  const command = COMMANDS.find((one) => one.words === words);
  assert.ok(command !== undefined && 'ask' in command);
  try {
    const { body } = await command.ask(client, args, flags, lines);
    return (body as { message: string }).message;
  } catch (error) {
    assert.ok(error instanceof InputError);
    return error.message;
  }
}

test('missing fields are named as on the command line', async () => {
  assert.match(await refusalOf('license add', ['cad'], {}, ['']), /--license-key, or --user/);
  assert.match(await refusalOf('airgap install', ['x'], {}, ['']), /^Add --license-key K/);
  assert.match(await refusalOf('airgap install', ['x'], { 'license-key': 'K' }, ['']), /^Add --policy-id N/);
  assert.match(await refusalOf('registration release', ['ann'], {}, []), /or add --product:/);
  assert.match(
    await refusalOf('registration recall', ['ann'], {}, []),
    /^"ann" holds no slot\. .*add --product:/,
  );
  assert.match(await refusalOf('key export', [], {}, ['']), /^The export needs a passphrase\./);
});

test('the only slot of a user needs no --product; several are listed', async () => {
  const held = (user: string, license_id: number, is_borrowed: boolean) => {
    return { user, license_id, is_borrowed, product: `p${license_id}` };
  };
  const registrations = [
    ...[held('ann', 1, true), held('anna', 2, true)],
    ...[held('bob', 3, false), held('bob', 4, false), held('bob', 5, true)],
  ];
  const sent: unknown[] = [];
  const server = {
    get: async () => ({ ok: true, body: { registrations, next: null } as never }),
    post: async (_: string, body: object) => {
      sent.push({ ...body });
      return { ok: true, body: {} as never };
    },
  } as unknown as AdminClient;
  const run = (words: string, user: string) => {
    const command = COMMANDS.find((one) => one.words === words);
    assert.ok(command !== undefined && 'ask' in command);
    return command.ask(server, [user], {}, []);
  };
  await run('registration recall', 'ann');
  await run('registration recall', 'bob');
  await assert.rejects(
    run('registration release', 'bob'),
    /"bob" holds several slots.*: 3 \(p3\), 4 \(p4\)\./,
  );
  assert.deepEqual(sent, [
    { user: 'ann', product: undefined, license_id: 1 },
    { user: 'bob', product: undefined, license_id: 5 },
  ]);
});

test('does not ask for a license key while no cloud is configured', async () => {
  const command = COMMANDS.find((one) => one.words === 'license add');
  assert.ok(command !== undefined && 'ask' in command);
  const answer = await command.precheck?.(client, ['cad'], {});
  assert.match(JSON.stringify(answer), /No licensing cloud is configured\./);
  assert.equal(await command.precheck?.(client, ['cad'], { 'license-key': 'K' }), null);
});

test('a flag that is turned off does nothing', async () => {
  const sent: unknown[] = [];
  const post = async (...request: unknown[]) => {
    sent.push(request);
    return { ok: true, body: {} as never };
  };
  const run = (words: string, args: readonly string[], flags: Flags) => {
    const command = COMMANDS.find((one) => one.words === words);
    assert.ok(command !== undefined && 'ask' in command);
    return command.ask({ post } as unknown as AdminClient, args, flags, []);
  };
  await run('clock reset', [], { yes: false, 'dry-run': false });
  await run('license remove', ['3'], { locally: false });
  await run('license sync', [], { 'accept-older': false, 'accept-unbound': false });
  assert.deepEqual(sent, [
    ['/api/admin/clock/reset', {}],
    ['/api/v4/removeProduct', { license_id: '3' }],
    ['/api/admin/licenses/sync', { license_id: undefined, accept_older: false, accept_unbound: false }],
  ]);
});
