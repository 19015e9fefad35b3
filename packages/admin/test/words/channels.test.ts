import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Channel } from '@berth/protocol/admin/channels';
import { TOPIC_NAMES } from '../../../server/src/core/nouns/topics.ts';
import { sayPlan, sayTopic, splitQuiet } from '../../src/words/channels.ts';

test('every topic has words for people', () => {
  for (const topic of TOPIC_NAMES) assert.notEqual(sayTopic(topic), topic);
});

test('what a channel is told is one line', () => {
  const channel = { topics: ['a', 'b'], quiet: null, quiet_weekends: false, digest: 'off', gap_minutes: 10 };
  const say = (facts: Partial<Channel>) => sayPlan({ ...channel, ...facts } as Channel, 3);
  assert.equal(say({}), '2 of 3 topics; at most every 10 min');
  assert.equal(
    say({ topics: ['a', 'b', 'c'], quiet: '20:00-07:00', quiet_weekends: true, digest: 'weekly' }),
    'everything; at most every 10 min; quiet 20:00–07:00 and on weekends; weekly digest',
  );
  assert.deepEqual(
    [splitQuiet('20:00-07:00'), splitQuiet(null)],
    [
      ['20:00', '07:00'],
      ['', ''],
    ],
  );
});
