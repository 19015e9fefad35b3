import type { Channel } from '../../../src/core/notify/channel.ts';
import { TOPIC_NAMES } from '../../../src/core/nouns/topics.ts';

export function exampleChannel(facts: Partial<Channel> = {}): Channel {
  return {
    name: 'ops',
    target: { kind: 'slack', url: "https://hooks.example/o'secret" },
    topics: TOPIC_NAMES,
    gapMinutes: 10,
    quiet: null,
    zone: 'UTC',
    digest: 'off',
    isPaused: false,
    ...facts,
  };
}
