import { z } from 'zod';
import { described, hostText, name, secret, userInfo, wholeNumber } from '../fields.ts';
import { CHANNEL_KINDS, DIGESTS, MAIL_SECURITIES } from './choices.ts';
import type { Operations } from './operation.ts';

const words = z.array(z.string(), { error: 'must be a list of texts' }).optional();
const consent = z.boolean({ error: 'must be true or false' }).optional();
const date = z.string().nullable();

const channelObject = z
  .object({
    name: described(z.string(), 'Identifies it.'),
    kind: described(z.enum(CHANNEL_KINDS), 'How messages are sent.'),
    to: described(z.string(), 'Mail addresses, or the host of an address that may be secret.'),
    state: described(
      z.enum(['paused', 'untried', 'ok', 'failing']),
      'The result of the last message, or of the last test.',
    ),
    delivered_at: described(date, 'When a message last arrived, UTC.'),
    failing_at: described(date, 'Since when messages fail, UTC.'),
    error: described(z.string().nullable(), 'Why they fail, or whom the last one did not reach.'),
    server: described(z.string().nullable(), 'The mail server, with its port.'),
    security: described(z.enum(MAIL_SECURITIES).nullable(), 'How the connection to it is encrypted.'),
    from: described(z.string().nullable(), 'The sender of mails.'),
    user: described(z.string().nullable(), 'Who signs in to the mail server; null: no one.'),
    topics: described(z.array(z.string()), 'What it is told about.'),
    gap_minutes: described(z.int(), 'The least time between two messages about a topic.'),
    quiet: described(z.string().nullable(), 'Hours in which only critical messages are sent.'),
    quiet_weekends: described(z.boolean(), 'Whether Saturday and Sunday are quiet all day.'),
    time_zone: described(z.string(), 'Of its quiet hours, its digest and the times in messages.'),
    digest: described(z.enum(DIGESTS), 'How often it gets a digest.'),
    paused: described(z.boolean(), 'Whether nothing is sent.'),
  })
  .meta({ id: 'Channel', description: 'Where messages to administrators go, without secrets.' });

export type Channel = z.output<typeof channelObject>;

/** What became of a test event or message. */
const testResult = z
  .object({
    delivered: described(z.boolean(), 'Whether the receiver has taken it.'),
    status: described(z.int().nullable(), 'The status of its answer, HTTP or SMTP; null: there was none.'),
    duration_ms: described(z.int(), 'How long it took.'),
    error: described(z.string().nullable(), 'What went wrong, in a sentence.'),
  })
  .meta({ id: 'TestResult' });

const ownName = described(name, 'The name of the channel.');

export const CHANNEL_API = {
  'GET /api/admin/channels': {
    answer: z.object({
      channels: described(z.array(channelObject), 'By name.'),
      topics: described(
        z.array(
          z.object({
            name: described(z.string(), 'Its name, as that of webhooks.'),
            critical: described(z.boolean(), 'Whether it is told in quiet hours, too.'),
          }),
        ),
        'What a channel can be told about.',
      ),
    }),
  },
  'POST /api/admin/channels': {
    body: z
      .object({
        name: ownName,
        kind: described(
          z.enum(CHANNEL_KINDS, { error: `must be one of ${CHANNEL_KINDS.join(', ')}` }).optional(),
          'How messages are sent. A new channel needs it.',
        ),
        to: described(words, 'Mail addresses.'),
        from: described(name, 'The sender of mails.'),
        server: described(hostText, 'The mail server, such as smtp.example.com:587.'),
        security: described(
          z.enum(MAIL_SECURITIES, { error: `must be one of ${MAIL_SECURITIES.join(', ')}` }).optional(),
          'How the connection to it is encrypted; `starttls` by default.',
        ),
        user: described(name, 'Who signs in to the mail server; `none`: no one.'),
        password: described(
          secret,
          'The password of that user. It has to be sent again with another server.',
        ),
        url: described(userInfo, 'The address of the webhook of Slack, Teams or another program.'),
        template: described(
          userInfo,
          'The body of a webhook, as JSON with placeholders. It has to be sent again with another host.',
        ),
        authorization: described(userInfo, 'The header `Authorization` of a webhook; `none`: without it.'),
        topics: described(words, 'What it is told about; everything by default.'),
        gap_minutes: described(
          wholeNumber,
          'The least time between two messages about a topic; 10 by default.',
        ),
        quiet: described(
          name,
          'Hours in which only critical messages are sent, such as 20:00-07:00, or "off".',
        ),
        quiet_weekends: described(consent, 'Whether Saturday and Sunday are quiet all day.'),
        time_zone: described(
          name,
          'Of its quiet hours, its digest and the times in messages; UTC by default.',
        ),
        digest: described(
          z.enum(DIGESTS, { error: `must be one of ${DIGESTS.join(', ')}` }).optional(),
          'How often it gets a digest; `off` by default.',
        ),
        paused: described(consent, 'Whether nothing is sent.'),
      })
      .meta({
        examples: [{ name: 'ops', kind: 'slack', url: 'https://hooks.slack.example/services/T0/B0/x' }],
      }),
    required: ['name'],
    answer: z.object({ changed: described(z.int(), '1, or 0 if it was so before.') }),
  },
  'POST /api/admin/channels/remove': {
    body: z.object({ name: ownName }).meta({ examples: [{ name: 'ops' }] }),
    required: ['name'],
    answer: z.object({ removed: described(z.int(), 'How many channels.') }),
  },
  'POST /api/admin/channels/test': {
    body: z.object({ name: ownName }).meta({ examples: [{ name: 'ops' }] }),
    required: ['name'],
    answer: testResult,
  },
} as const satisfies Operations;

/** The signed webhook, which is set in the settings. */
export const WEBHOOK_API = {
  'POST /api/admin/webhooks/test': {
    answer: testResult,
  },
  'POST /api/admin/webhooks/secret': {
    answer: z.object({ secret: described(z.string(), 'The new secret. It is not shown again.') }),
  },
} as const satisfies Operations;
