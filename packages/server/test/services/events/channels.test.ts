import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { openMailReceiver } from '../../../../../test/support/mail-receiver.ts';
import { START } from '../../../../../test/support/test-app.ts';
import { openWebhookReceiver } from '../../../../../test/support/webhook-receiver.ts';
import { DAY_MS, HOUR_MS, instant, MINUTE_MS } from '../../../src/core/nouns/instant.ts';
import { TOPIC_NAMES } from '../../../src/core/nouns/topics.ts';
import type { ChannelWish } from '../../../src/services/events/read-channel.ts';
import type { Store } from '../../../src/store/store.ts';
import { deny, JUMP, openChannels, read } from './open-channels.ts';

/** How many refusals all messages together have told. */
function countTold(requests: readonly { readonly body: string }[]): number {
  return requests.reduce((sum, { body }) => {
    const { text } = read(body);
    const [, count] = /([\d,]+) (?:more )?refusals/.exec(text) ?? [];
    return sum + (count === undefined ? Number(/was refused/.test(text)) : Number(count.replaceAll(',', '')));
  }, 0);
}

describe('a channel', () => {
  test('is told the first event at once, and the next ones together', async (t) => {
    const { store, clock, receiver, channels } = await openChannels(t);
    await channels.round();
    assert.equal(receiver.requests.length, 0, 'events from before it was added, and other events');
    await deny(store, 1);
    await channels.round();
    assert.equal(
      read(receiver.requests[0]?.body).title,
      'u0 was refused a slot of Berth demo product: all slots are in use',
    );
    await deny(store, 14, 'v');
    await channels.round();
    clock.advance(9 * MINUTE_MS);
    await channels.round();
    assert.equal(receiver.requests.length, 1);
    clock.advance(MINUTE_MS);
    await channels.round();
    await channels.round();
    assert.equal(receiver.requests.length, 2);
    const { text, severity } = read(receiver.requests[1]?.body);
    assert.equal(
      text,
      '14 more refusals of Berth demo product in the last 11 minutes, 14 users: all slots are in use.',
    );
    assert.equal(severity, 'warning');
  });

  test('gets few messages in a storm, and no refusal is lost over restarts', async (t) => {
    const { store, clock, receiver, channels, create } = await openChannels(t);
    let running = channels;
    for (let wave = 0; wave < 4; wave += 1) {
      await deny(store, 500, `w${wave}-`);
      await running.round();
      await running.round();
      // What it has summed up is gone; the log still has it.
      running = create();
      await running.round();
      clock.advance(4 * MINUTE_MS);
    }
    clock.advance(10 * MINUTE_MS);
    await running.round();
    assert.equal(countTold(receiver.requests), 2000);
    assert.equal(receiver.requests.length, 2, 'at the start, and after ten minutes');
  });

  test('repeats a message rather than losing one if it cannot store that it arrived', async (t) => {
    const { store, receiver, channels, create } = await openChannels(t);
    await deny(store, 3);
    const { execute } = store;
    const broken = t.mock.method(store, 'execute', (command: Parameters<Store['execute']>[0]) =>
      command.kind === 'set_cursor' ? Promise.reject(new Error('disk')) : execute.call(store, command),
    );
    await assert.rejects(channels.round());
    broken.mock.restore();
    await create().round();
    assert.equal(receiver.requests.length, 2);
    assert.equal(receiver.requests[0]?.body, receiver.requests[1]?.body);
  });

  test('is left alone in quiet hours except for what is critical', async (t) => {
    const { store, clock, receiver, channels } = await openChannels(t, { quiet: '20:00-07:00' });
    clock.advance(9 * HOUR_MS);
    await deny(store, 5);
    await channels.round();
    await deny(store, 2, 'v');
    clock.advance(2 * HOUR_MS);
    await channels.round();
    assert.equal(receiver.requests.length, 0);
    clock.advance(8 * HOUR_MS);
    await channels.round();
    assert.equal(receiver.requests.length, 1, 'in one message at seven');
    assert.match(
      read(receiver.requests[0]?.body).text,
      /^7 refusals of Berth demo product in the last 11 hours, 7 users/,
    );
    clock.advance(14 * HOUR_MS);
    await deny(store, 1, 'w');
    await store.execute({ kind: 'note', notice: JUMP });
    await channels.round();
    const { title, severity } = read(receiver.requests[1]?.body);
    assert.equal(severity, 'critical');
    assert.match(title, /^The disk of \/data on lic-01 is filling up: 5 MB are free \(and 1 more\)$/);
  });

  test('gets only its topics, and none while it is paused', async (t) => {
    const { store, receiver, channels } = await openChannels(t, { topics: ['disk_space_low'] });
    await deny(store, 2);
    await channels.round();
    await channels.put('ops', { paused: true }, 'ada');
    await store.execute({ kind: 'note', notice: JUMP });
    await channels.round();
    assert.equal(receiver.requests.length, 0);
    await channels.put('ops', { paused: false, topics: TOPIC_NAMES }, 'ada');
    await channels.round();
    assert.equal(receiver.requests.length, 0, 'what happened meanwhile is not told');
    await deny(store, 1, 'v');
    await channels.round();
    assert.match(read(receiver.requests[0]?.body).text, /^v0 was refused/);
  });

  test('gets a digest on Monday at eight', async (t) => {
    const { store, clock, receiver, channels } = await openChannels(t, {
      digest: 'weekly',
      topics: [],
      timeZone: 'Europe/Berlin',
    });
    await deny(store, 3);
    const monday = instant(Date.UTC(2030, 0, 21, 7));
    clock.advance(monday - START - 2 * MINUTE_MS);
    await channels.round();
    assert.equal(receiver.requests.length, 0);
    clock.advance(2 * MINUTE_MS);
    await channels.round();
    clock.advance(DAY_MS);
    await channels.round();
    assert.equal(receiver.requests.length, 1);
    const { title, text } = read(receiver.requests[0]?.body);
    assert.equal(title, 'Weekly digest: 3 refusals');
    const help = 'With 4 slots, no one would have been refused.';
    assert.equal(
      text,
      `Mon 14 Jan to Sun 20 Jan:\nBerth demo product: at most 1 of 1 slots in use; 3 refusals. ${help}`,
    );
  });
});

test('a digest comes once after several periods, and begins anew with another schedule', async (t) => {
  const { store, clock, receiver, channels, create } = await openChannels(t, {
    digest: 'weekly',
    topics: [],
  });
  clock.advance(21 * HOUR_MS);
  await channels.put('ops', { digest: 'daily' }, 'ada');
  await channels.round();
  assert.equal(receiver.requests.length, 0, 'what would have been due this morning is not told');
  await deny(store, 3);
  clock.advance(DAY_MS);
  await channels.round();
  clock.advance(3 * DAY_MS);
  await create().round();
  await create().round();
  const messages = receiver.requests.map(({ body }) => read(body));
  assert.deepEqual(
    messages.map(({ id, title }) => [id, title]),
    [
      ['daily-2030-01-16.ops', 'Daily digest: 3 refusals'],
      ['daily-2030-01-19.ops', 'Daily digest: no one was refused'],
    ],
  );
});

test('a digest by mail has the reports as files', async (t) => {
  const { store, clock, channels } = await openChannels(t);
  const { port, mails } = await openMailReceiver(t, { disabledCommands: ['STARTTLS', 'AUTH'] });
  const mail = { kind: 'mail', to: ['a@example.com'], from: 'b@example.com', security: 'none' } as const;
  await channels.put('ops', { ...mail, server: `127.0.0.1:${port}`, digest: 'weekly', topics: [] }, 'ada');
  await deny(store, 2, '=u');
  clock.advance(6 * DAY_MS);
  await deny(store, 1, 'late');
  await channels.round();
  const text = mails[0]?.text ?? '';
  assert.deepEqual(
    [...text.matchAll(/filename=([\w.-]+)/g)].map(([, name]) => name),
    ['berth-slots.csv', 'berth-denials.csv', 'berth-users.csv'],
  );
  const csv = [...text.matchAll(/Content-Transfer-Encoding: base64[\s\S]*?\r\n\r\n([\w+/=\r\n]+)/g)].map(
    ([, part]) => Buffer.from(part as string, 'base64').toString('utf8'),
  );
  const whole = csv.length === 3 ? csv.join('') : text;
  assert.match(whole, /first_at,last_at,license_id/);
  assert.match(whole, /'=u1/, 'a spreadsheet takes no name for a formula');
  assert.doesNotMatch(whole, /late/, 'what happened after the week');
});

describe('a receiver that fails', () => {
  test('is tried again at growing intervals, which every server shows, and loses nothing', async (t) => {
    const { store, clock, receiver, channels, create } = await openChannels(t);
    receiver.react(...Array.from({ length: 5 }, () => ({ status: 500 })));
    await deny(store, 3);
    for (let at = 0; at < 10; at += 1) await channels.round();
    const tries = receiver.requests.length;
    assert.ok(tries >= 2 && tries <= 4, `${tries} tries in ten seconds`);
    const [failing] = await create().list();
    assert.equal(failing?.state, 'failing');
    assert.equal(failing?.error, 'it answered with status 500');
    await deny(store, 2, 'v');
    clock.advance(6 * MINUTE_MS);
    for (let at = 0; at < 4; at += 1) {
      await channels.round();
      clock.advance(6 * MINUTE_MS);
    }
    assert.equal((await channels.list())[0]?.state, 'ok');
    assert.match(read(receiver.requests.at(-1)?.body).text, /^5 refusals/);
  });

  test('delays no other channel', async (t) => {
    const { store, receiver, channels } = await openChannels(t);
    const other = await openWebhookReceiver(t);
    await channels.put('chat', { kind: 'slack', url: other.url }, 'ada');
    receiver.react('hang');
    await deny(store, 1);
    void channels.round();
    await receiver.arrived(1);
    await other.arrived(1);
    await channels.put('late', { kind: 'teams', url: other.url }, 'ada');
    await deny(store, 1, 'v');
    await channels.round();
    await other.arrived(2);
    assert.equal(receiver.requests.length, 1, 'it is not asked twice at a time');
  });
});

describe('a test of a channel', () => {
  test('says in a sentence what the receiver answered, and is shown', async (t) => {
    const { receiver, channels } = await openChannels(t);
    const good = await channels.test('ops', 'ada');
    assert.deepEqual([good.delivered, good.status, good.error], [true, 200, null]);
    assert.match(read(receiver.requests[0]?.body).text, /^ada sent this/);
    assert.equal((await channels.list())[0]?.state, 'ok');
    receiver.react({ status: 404 });
    const bad = await channels.test('ops', 'ada');
    const error = 'The test message was not delivered: the receiver answered with status 404.';
    assert.deepEqual([bad.delivered, bad.status, bad.error], [false, 404, error]);
    assert.equal((await channels.list())[0]?.state, 'failing');
    await assert.rejects(channels.test('opps', 'ada'), /There is no channel "opps"\. Did you mean "ops"\?/);
  });
});

describe('a channel that cannot work is refused', () => {
  const mail = { kind: 'mail', to: ['a@example.com'], from: 'b@example.com', server: 'mail:25' } as const;
  const wrong: readonly (readonly [string, ChannelWish, RegExp])[] = [
    ['no kind', {}, /Say which "kind"/],
    ['no address', { kind: 'slack' }, /Send the address to post to as "url"/],
    ['another protocol', { kind: 'slack', url: 'file:///etc/passwd' }, /begins with https/],
    ['a template', { kind: 'webhook', url: 'http://a/', template: '{}' }, /names nothing of the message/],
    ['a topic', { kind: 'slack', url: 'http://a/', topics: ['slot_lent'] }, /cannot hold "slot_lent"/],
    ['quiet hours', { kind: 'slack', url: 'http://a/', quiet: '25:00-07:00' }, /two times of the day/],
    ['no hours', { kind: 'slack', url: 'http://a/', quiet: '08:00-08:00' }, /must end at another time/],
    ['only weekends', { kind: 'slack', url: 'http://a/', quietWeekends: true }, /needs quiet hours/],
    ['a time zone', { kind: 'slack', url: 'http://a/', timeZone: 'Europe/Berln' }, /Europe\/Berlin/],
    ['no recipient', { ...mail, to: [] }, /needs "to", "from" and "server"/],
    ['a header', { ...mail, to: ['a@example.com\r\nBcc: x@example.com'] }, /"to" must be addresses/],
    ['two senders', { ...mail, from: 'a@b.example, c@d.example' }, /"from" must be an address/],
    ['a mail server', { ...mail, server: 'smtp://a:25' }, /"server" must be a host and a port/],
    ['a readable password', { ...mail, user: 'u', security: 'none' }, /could be read on the network/],
  ];
  for (const [what, wish, sentence] of wrong) {
    test(what, async (t) => {
      const { channels } = await openChannels(t);
      await assert.rejects(channels.put('new', wish, 'ada'), sentence);
      assert.equal((await channels.list()).length, 1);
    });
  }
});
