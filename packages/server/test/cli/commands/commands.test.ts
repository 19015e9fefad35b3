import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AdminClient } from '../../../src/cli/admin-client.ts';
import type { Flags } from '../../../src/cli/command.ts';
import { COMMANDS } from '../../../src/cli/commands/commands.ts';
import { InputError } from '../../../src/cli/read-secrets.ts';

const callOf = (words: string) => `./berth ${words}`;

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
    assert.ok(show('status', { version: '1', clock }).endsWith(`\n${advice}`));
  });
}

function show(words: string, body: object): string {
  const command = COMMANDS.find((one) => one.words === words);
  assert.ok(command !== undefined && 'show' in command);
  return command.show(body as never, callOf);
}

const PRODUCT = 'Name the "product": this server has several, or none.';

/** A server without a cloud, which refuses whatever it is sent. */
const client = {
  get: async () => ({ ok: true, body: { cloud: { state: 'not_configured' } } as never }),
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
  assert.match(await refusalOf('registration release', ['ann'], {}, []), /"product" \(--product\)/);
  assert.match(await refusalOf('registration recall', ['ann'], {}, []), /"product" \(--product\)/);
  assert.match(await refusalOf('key export', [], {}, ['']), /^The export needs a passphrase\./);
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
