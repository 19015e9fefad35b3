import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { describe, test } from 'node:test';
import { runBerth } from '../support/berth-command.ts';
import { setUpData, succeeded } from './data-states.ts';

const OWN = 'a password of my own';

for (const state of ['running', 'stopped'] as const) {
  describe(`people and programs of a server that is ${state}`, () => {
    test('accounts are added, changed and removed; passwords come from standard input', async (t) => {
      const { run } = await setUpData(t, state);
      const added = succeeded(await run('user add ada --role admin', `${OWN}\n`));
      assert.equal(added, 'Added account "ada" with role admin.\nThe password of "ada" is set.\n');
      const made = succeeded(await run('user add bob --role user --one-time'));
      assert.match(made, /^Added account "bob" with role user\.\n/);
      assert.match(made, /\nThe one-time password of "bob" is {2}[a-z2-9-]{29}\nIt is shown only once,/);
      const role = succeeded(await run('user role bob --role operator'));
      assert.equal(role, '"bob" now has role operator.\n');
      const limited = succeeded(await run('user role bob --role operator --products cad,cam'));
      assert.equal(limited, '"bob" now has role operator for cad, cam.\n');
      const list = succeeded(await run('user list'));
      assert.match(list, /^name +role +password +second factor +created at\n/);
      assert.match(list, /\nada +admin +own +no +\d{4}-/);
      assert.match(list, /\nbob +operator for cad, cam +one-time, until \d{4}-/);
      assert.match(succeeded(await run('user password bob', `${OWN}\n`)), /is set\.\n$/);
      assert.match(
        succeeded(await run('user password ada', `${OWN}\n`)),
        /is set\.\nOther accounts: .*bob \(operator\)\. Remove those you do not know with "berth user remove/,
      );
      const none = succeeded(await run('user remove-second-factor bob'));
      assert.equal(none, '"bob" has no second factor.\n');
      const removed = succeeded(await run('user remove bob'));
      assert.equal(removed, 'Removed account "bob" and ended its sessions.\n');
      const json = JSON.parse(succeeded(await run('user list --json')));
      assert.ok(!json.users.some(({ name }: { name: string }) => name === 'bob'));
    });

    test('invalid requests get a message', async (t) => {
      const { run } = await setUpData(t, state);
      succeeded(await run('user add ada --role admin', `${OWN}\n`));
      for (const [words, input, message] of [
        ['user add ada --role user', OWN, 'There is already an account "ada".'],
        ['user add bob --role king', OWN, '--role must be one of user, viewer, operator, admin, not "king".'],
        ['token create ci --role amdin', '', 'not "amdin". Did you mean "admin"?'],
        ['user add bob --role user', '', 'The password is empty.'],
        ['user add bob --role user', 'short', 'The new password must have 12 to 256 characters'],
        ['user password nobody', OWN, 'There is no account "nobody".'],
        ['token revoke nothing', '', 'There is no token "nothing".'],
      ] as const) {
        const { code, stderr } = await run(words, input);
        assert.equal(code, 1, words);
        assert.ok(stderr.includes(message), `${words}: ${stderr}`);
      }
      assert.equal((await run('user list --role admin')).code, 2, 'a flag that does nothing');
    });

    test('does not ask for the password of an invalid account', async (t) => {
      const { data, run } = await setUpData(t, state);
      succeeded(await run('user add ada --role admin', `${OWN}\n`));
      for (const [words, message] of [
        ['user add bob --role king', '--role must be one of'],
        ['user add ada --role user', 'There is already an account "ada".'],
        ['user password nobody', 'There is no account "nobody".'],
      ] as const) {
        let isAsked = false;
        const input = new Readable({
          read() {
            isAsked = true;
            this.push(null);
          },
        });
        const { code, stderr } = await runBerth(data, words.split(' '), {}, input);
        assert.deepEqual([code, isAsked], [1, false], words);
        assert.ok(stderr.startsWith(message), stderr);
      }
    });

    test('tokens are shown once, listed and revoked', async (t) => {
      const { run } = await setUpData(t, state);
      assert.equal(succeeded(await run('token list')), 'No tokens.\n');
      const made = succeeded(await run('token create ci --role user --days 30'));
      const [, token, id] = /^([\w-]{43})\nThis is token ([0-9a-f]{12})\./.exec(made) ?? [];
      assert.ok(token !== undefined && id !== undefined, made);
      const list = succeeded(await run('token list'));
      assert.match(list, new RegExp(`\\n${id} +api +ci +user +never +\\d{4}-`));
      assert.ok(!list.includes(token));
      const endless = succeeded(await run('token create lab --role user --days never'));
      assert.match(endless, /It does not expire\.\n$/);
      assert.match(succeeded(await run('token create year --role user')), /It expires at \d{4}-/);
      for (const name of ['lab', 'year']) succeeded(await run(`token revoke ${name}`));
      assert.equal(succeeded(await run('token revoke ci')), 'Revoked token "ci".\n');
      assert.equal(succeeded(await run('token list')), 'No tokens.\n');
    });
  });
}
