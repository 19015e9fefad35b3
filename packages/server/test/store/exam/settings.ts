import assert from 'node:assert/strict';
import { nameOf } from '../../../src/core/nouns/actor.ts';
import { MINUTE_MS } from '../../../src/core/nouns/instant.ts';
import type { SettingValue } from '../../../src/core/nouns/stored-setting.ts';
import { exampleChannel } from '../../core/notify/example-channel.ts';
import type { ExamStore } from './exam-store.ts';

const BY = { name: 'ada', address: '192.0.2.1' };

function changeSettings(exam: Pick<ExamStore, 'execute'>, values: Record<string, SettingValue | null>) {
  const changes = Object.entries(values).map(([name, value]) => ({ name, value, shown: value }));
  return exam.execute({ kind: 'change_settings', changes, by: BY });
}

function listSettings({ store }: ExamStore) {
  return store.read({ kind: 'list_settings' });
}

/** What administrators set while the server runs. */
export function settingCases(again: 'restart' | 'crash') {
  return {
    ...sealedCases(again),

    'settings are kept with who changed them when, and every change is recorded': async (exam: ExamStore) => {
      await changeSettings(exam, {
        'page.name': "Kestrel's",
        'backup.keep': 30,
        'webhooks.events': ['a', 'b'],
      });
      const [first] = await listSettings(exam);
      await exam[again](() => exam.clock.advance(MINUTE_MS));
      const changedAt = first?.changedAt ?? 0;
      assert.ok(changedAt > 0);
      const kept = { changedBy: 'ada', changedAt };
      assert.deepEqual(await listSettings(exam), [
        { name: 'backup.keep', value: 30, ...kept },
        { name: 'page.name', value: "Kestrel's", ...kept },
        { name: 'webhooks.events', value: ['a', 'b'], ...kept },
      ]);
      await changeSettings(exam, { 'page.name': null, 'backup.keep': 30, 'webhooks.events': [] });
      const [keep, events, ...rest] = await listSettings(exam);
      assert.deepEqual([keep?.changedAt, events?.value, rest], [changedAt, [], []]);
      const recorded = await exam.listEventsOf('settings_changed', 'system');
      assert.deepEqual(
        recorded.map(({ settings, by }) => [settings, nameOf(by)]),
        [
          [{ 'page.name': "Kestrel's", 'backup.keep': 30, 'webhooks.events': ['a', 'b'] }, 'ada'],
          [{ 'page.name': null, 'webhooks.events': [] }, 'ada'],
        ],
      );
    },

    'channels are kept by their names, with what their followers remember': async (exam: ExamStore) => {
      const [ops, chat] = [exampleChannel(), exampleChannel({ name: 'chat', gapMinutes: 3 })];
      const list = () => exam.store.read({ kind: 'list_channels' });
      const find = () => exam.store.read({ kind: 'find_follower', follower: 'channel ops' });
      assert.deepEqual([await list(), await find()], [[], null]);
      const start = { position: { seq: 1, index: 0 }, memory: '{}' };
      for (const channel of [ops, chat, ops]) {
        await exam.execute({ kind: 'put_channel', channel, start, by: BY });
      }
      assert.deepEqual(await find(), start);
      const position = { seq: 2, index: 1 };
      const move = { kind: 'set_cursor', follower: 'channel ops', position } as const;
      for (const memory of ['{"a":1}', '{"a":2}']) await exam.execute({ ...move, memory });
      await exam[again]();
      assert.deepEqual(await list(), [chat, ops]);
      assert.deepEqual(await find(), { position, memory: '{"a":2}' });
      const back = { ...move, position: { seq: 1, index: 0 }, memory: '{}' };
      await exam.execute(back);
      assert.equal((await find())?.memory, '{"a":2}', 'who is late puts nothing back');
      await exam.execute({ kind: 'remove_channel', name: 'ops', by: BY });
      await exam[again]();
      assert.deepEqual([await list(), await find()], [[chat], null]);
      const changed = (await exam.listEventsOf('channel_set', 'system')).map(({ channel }) => channel);
      assert.deepEqual(changed, ['ops', 'chat'], 'what stays the same is no event');
      assert.equal((await exam.listEventsOf('channel_removed', 'system')).length, 1);
    },
  };
}

/** What is kept sealed for the webhook. */
function sealedCases(again: 'restart' | 'crash') {
  return {
    'the address of the webhook is kept sealed, and goes with its setting': async (exam: ExamStore) => {
      const urls = async () => (await listSettings(exam)).map(({ value }) => value);
      for (const url of ['https://hooks.example/one', 'https://hooks.example/two'])
        await changeSettings(exam, { 'webhooks.url': url, 'page.name': 'Kestrel' });
      await exam[again]();
      assert.deepEqual(await urls(), ['Kestrel', 'https://hooks.example/two']);
      await changeSettings(exam, { 'webhooks.url': 'https://hooks.example/two' });
      assert.equal((await exam.listEventsOf('settings_changed', 'system')).length, 2);
      await changeSettings(exam, { 'webhooks.url': null });
      await exam[again]();
      assert.deepEqual(await urls(), ['Kestrel']);
    },

    'the secret of the webhook is kept sealed': async (exam: ExamStore) => {
      const find = () => exam.store.read({ kind: 'find_webhook_secret' });
      assert.equal(await find(), null);
      for (const secret of ['one', 'two'])
        await exam.execute({ kind: 'set_webhook_secret', secret, fingerprint: secret, by: BY });
      await exam[again]();
      assert.equal(await find(), 'two');
      assert.equal((await exam.listEventsOf('webhook_secret_set', 'system')).length, 2);
    },
  };
}
