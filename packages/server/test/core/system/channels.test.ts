import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MAX_CHANNELS } from '../../../src/core/notify/channel.ts';
import { putChannel, removeChannel } from '../../../src/core/system/channels.ts';
import { exampleChannel } from '../notify/example-channel.ts';

const ops = exampleChannel();

function put(channel = ops, channels = [ops]) {
  return putChannel.decide({ kind: 'put_channel', channel, by: 'ada' }, { channels, cursor: null });
}

test('a channel and where it begins are one change, which never goes back', () => {
  const start = { position: { seq: 7, index: 0 }, memory: '{}' };
  const command = { kind: 'put_channel', channel: ops, start, by: 'ada' } as const;
  assert.deepEqual(putChannel.needs(command), { channels: true, cursor: 'channel ops' });
  const begin = (cursor: { seq: number; index: number } | null) =>
    putChannel.decide(command, { channels: [], cursor }).changes.at(-1);
  const change = { kind: 'set_cursor', follower: 'channel ops', ...start };
  assert.deepEqual(begin(null), change);
  assert.deepEqual(begin({ seq: 6, index: 3 }), change);
  assert.deepEqual(begin({ seq: 8, index: 0 }), { ...change, position: { seq: 8, index: 0 } });
});

test('a change of a channel names what changed, and none of its secrets', () => {
  const target = { kind: 'slack', url: 'https://hooks.example/new-secret' } as const;
  const { events, changes } = put({ ...ops, target, gapMinutes: 3 });
  const changed = ['target', 'gapMinutes'];
  assert.deepEqual(events, [{ kind: 'channel_set', channel: 'ops', target: 'slack', changed, by: 'ada' }]);
  assert.doesNotMatch(JSON.stringify(events), /secret/);
  assert.match(JSON.stringify(changes), /new-secret/);
  assert.deepEqual(put(), { outcome: { kind: 'done', count: 0 }, changes: [], events: [] });
});

test('there is a limit, which changing a channel does not reach', () => {
  const many = Array.from({ length: MAX_CHANNELS }, (_, at) => exampleChannel({ name: `c${at}` }));
  const { outcome } = put(ops, many);
  assert.equal(outcome.kind === 'refused' && outcome.code, 'too_many_channels');
  assert.equal(put(exampleChannel({ name: 'c3', gapMinutes: 1 }), many).outcome.kind, 'done');
});

test('a removed channel leaves no cursor to one that gets its name', () => {
  const remove = (name: string) =>
    removeChannel.decide({ kind: 'remove_channel', name, by: 'ada' }, { channels: [ops] });
  assert.deepEqual(remove('ops').changes, [
    { kind: 'put_secret', name: 'channels', secret: '[]' },
    { kind: 'remove_cursor', follower: 'channel ops' },
  ]);
  const { outcome } = remove('opps');
  assert.equal(outcome.kind === 'refused' && outcome.code, 'channel_not_found');
});
