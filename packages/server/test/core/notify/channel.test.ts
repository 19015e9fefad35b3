import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type ChannelTarget, describeTarget } from '../../../src/core/notify/channel.ts';

test('the place where messages go is shown without what must stay secret', () => {
  const url = 'https://hooks.example:8443/services/T0/secret?key=1#x';
  assert.equal(describeTarget({ kind: 'slack', url }), 'https://hooks.example:8443/…');
  const signIn = { user: 'berth', password: 'secret' };
  const server = { host: 'mail.example', port: 587, security: 'starttls', ...signIn } as const;
  const mail: ChannelTarget = {
    kind: 'mail',
    to: ['a@b.example', 'c@d.example'],
    from: 'x@b.example',
    ...server,
  };
  assert.equal(describeTarget(mail), 'a@b.example, c@d.example');
});
