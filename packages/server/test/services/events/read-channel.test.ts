import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { MailTarget, TemplateTarget } from '../../../src/core/notify/channel.ts';
import { type ChannelWish, readChannel } from '../../../src/services/events/read-channel.ts';

const TEMPLATE = '{"key":"s3cret","text":"{{text}}"}';
const LOGIN = { user: 'berth', password: 's3cret' };
const MAIL = { kind: 'mail', to: ['a@example.com'], from: 'b@example.com', ...LOGIN } as const;
const HOOK = { kind: 'webhook', url: 'https://one.example/a', template: TEMPLATE } as const;

/** A channel as first wished, and then changed. */
function change(first: ChannelWish, wish: ChannelWish) {
  return readChannel('ops', wish, readChannel('ops', first, null));
}

function changeMail(server: string, wish: ChannelWish): MailTarget {
  return change({ ...MAIL, server }, wish).target as MailTarget;
}

function changeHook(wish: ChannelWish): TemplateTarget {
  return change({ ...HOOK, authorization: 'Bearer s3cret' }, wish).target as TemplateTarget;
}

describe('what is stored for one host is not sent to another', () => {
  test('the password of a mail server', () => {
    const again = /"password" must be sent again/;
    assert.throws(() => changeMail('one.example', { server: 'two.example' }), again);
    assert.throws(() => changeMail('one.example', { server: 'one.example:2525' }), again);
    assert.equal(changeMail('one.example', { server: 'one.example:587' }).password, 's3cret');
    const moved = changeMail('one.example', { server: 'two.example', password: 'new' });
    assert.deepEqual([moved.host, moved.password], ['two.example', 'new']);
    assert.equal(changeMail('one.example', { server: 'two.example', user: 'none' }).password, null);
  });

  test('the template and the header of a webhook', () => {
    const url = 'https://two.example/a';
    assert.throws(() => changeHook({ url }), /"template" must be sent again/);
    assert.throws(() => changeHook({ url, template: TEMPLATE }), /"authorization" must be sent again/);
    assert.throws(() => changeHook({ url: 'http://one.example/a' }), /must be sent again/);
    assert.equal(changeHook({ url: 'https://one.example/b' }).authorization, 'Bearer s3cret');
    const moved = changeHook({ url, template: TEMPLATE, authorization: 'none' });
    assert.deepEqual([moved.url, moved.authorization], [url, null]);
  });
});

test('a mail server with an IPv6 address can be changed', () => {
  const { host, port } = changeMail('[::1]:2525', { from: 'c@example.com' });
  assert.deepEqual([host, port], ['::1', 2525]);
});

test('another security takes its port along, unless the port was chosen', () => {
  assert.equal(changeMail('one.example', { security: 'tls' }).port, 465);
  assert.equal(changeMail('one.example:2525', { security: 'tls' }).port, 2525);
});

test('"none" takes a user and a header away', () => {
  const { user, password } = changeMail('one.example', { user: 'none' });
  assert.deepEqual([user, password], [null, null]);
  assert.equal(changeHook({ authorization: 'none' }).authorization, null);
});

test('weekends alone cannot be quiet, and no hours are', () => {
  const slack = { kind: 'slack', url: 'https://one.example/a' } as const;
  const hours = { ...slack, quiet: '20:00-07:00', quietWeekends: true };
  assert.throws(() => change(slack, { quietWeekends: true }), /"quiet_weekends" needs quiet hours/);
  assert.throws(() => change(slack, { quiet: '08:00-08:00' }), /"quiet" must end at another time/);
  assert.throws(() => change(hours, { quiet: 'off', quietWeekends: true }), /needs quiet hours/);
  assert.equal(change(hours, { quiet: 'off' }).quiet, null);
  assert.deepEqual(change(hours, { gapMinutes: 3 }).quiet, { from: 1200, to: 420, withWeekends: true });
});
