import { z } from 'zod';
import { described, name, positiveInteger, strictLicenseId, userName } from '../fields.ts';
import { MOMENT_FORMS } from '../moment.ts';
import type { Operations } from './operation.ts';

const span = {
  since: described(name, `From when on: ${MOMENT_FORMS}; UTC. By default 30 days ago.`),
  until: described(name, 'Until when; a day that is named without a time belongs to it. By default now.'),
  license: described(strictLicenseId, 'Only this license, by its id.'),
};

const feature = described(name, 'Only this feature, by its code.');

const user = described(userName, 'Only this user.');

const search = described(name, 'Only users with this part in their names. Ignores case.');

const limit = described(positiveInteger, 'How many rows at most, up to 10,000. By default 100.');

const count = z.int();

const time = z.string();

const text = z.string().nullable();

const subject = {
  license_id: described(count, 'The id of the license.'),
  product: described(z.string(), 'Its product code.'),
  name: described(z.string(), 'The name of the product.'),
  feature: described(text, 'The code of the feature; null for the license itself.'),
};

const userFields = {
  user: described(text, 'The user; null if none was named, and for others.'),
  others: described(z.boolean(), 'Whether this is the sum of all users that the history does not name.'),
};

const slotPoint = z
  .object({
    at: described(time, 'The start of the bucket, UTC.'),
    in_use: described(count, 'Slots in use at its end.'),
    average: described(z.number(), 'Slots in use on average, over time.'),
    peak: described(count, 'The most in use at once.'),
    borrowed: described(count, 'Borrowed slots at its end.'),
    grants: described(count, 'How many were lent.'),
    returns: described(count, 'How many were given back, taken back or expired.'),
    denials: described(count, 'How many requests were denied, retries and all reasons included.'),
  })
  .meta({ id: 'SlotPoint', description: 'What happened in one step of time.' });

const seriesTotals = z.object({
  average: described(z.number(), 'Slots in use on average, over time.'),
  peak: described(count, 'The most in use at once.'),
  grants: described(count, 'How many were lent.'),
  returns: described(count, 'How many were given back, taken back or expired.'),
  denials: described(count, 'How many requests were denied.'),
});

const denialRecord = z
  .object({
    first_at: described(time, 'When the first of them was, UTC.'),
    last_at: described(time, 'When the last of them was, UTC.'),
    ...subject,
    reason: described(z.string(), 'The error code.'),
    rule: described(z.string().nullable(), 'The rule that refused, in a few words; null if none did.'),
    ...userFields,
    host: described(text, 'The name of the host, as it was sent.'),
    address: described(text, 'The address of the connection.'),
    count: described(count, 'How many requests.'),
    explanation: described(z.string(), 'Why, in a sentence.'),
  })
  .meta({ id: 'DenialRecord', description: 'Denials of one user for one reason, close to each other.' });

const length = (text: string) => described(count.nullable(), text);

const waits = z
  .object({
    ...subject,
    served: described(count, 'How many waits ended with a slot.'),
    median_ms: length('Half of these took no longer; null if there was none.'),
    p90_ms: length('Nine of ten took no longer.'),
    longest_ms: length('The longest.'),
    unserved: described(count, 'How many ended without one: users gave up, or were refused.'),
    unserved_median_ms: length('Half of these took no longer.'),
    unserved_longest_ms: length('The longest.'),
  })
  .meta({ id: 'Waits', description: 'How long users waited in line, by whole days.' });

export const HISTORY_API = {
  'GET /api/admin/history/slots': {
    query: z.object({
      ...span,
      feature,
      grain: described(
        z.enum(['auto', 'minute', 'hour', 'day'], { error: 'must be auto, minute, hour or day' }).optional(),
        'How fine the curve is. By default `auto`: at most 1,500 points, or 400 of each license for all.',
      ),
    }),
    answer: z.object({
      since: described(time, 'The start, UTC.'),
      until: described(time, 'The end, UTC.'),
      grain: described(z.string(), 'The grain that was chosen.'),
      step_ms: described(
        count,
        'How long a step is, in milliseconds. Older parts of the history are coarser.',
      ),
      series: described(
        z.array(
          z.object({
            ...subject,
            slots: described(count, 'How many slots there are now.'),
            begins_at: described(time, 'When the curve begins, UTC: later if the license was added later.'),
            totals: described(seriesTotals, 'From then to the end.'),
            points: described(
              z.array(slotPoint),
              'Only steps in which something changed; the first is the state at the start.',
            ),
          }),
        ),
        'A curve for each license and feature.',
      ),
    }),
  },
  'GET /api/admin/history/denials': {
    query: z.object({
      ...span,
      feature,
      user,
      search,
      reason: described(name, 'Only this error code.'),
      limit,
    }),
    answer: z.object({
      total: described(count, 'How many requests were denied, retries and all reasons included.'),
      by_reason: described(
        z.array(
          z.object({
            reason: described(z.string(), 'The error code.'),
            count: described(count, 'How many.'),
          }),
        ),
        'The most frequent first.',
      ),
      by_rule: described(
        z.array(z.object({ rule: described(z.string(), 'The rule.'), count: described(count, 'How many.') })),
        'Only those that a rule refused; the most frequent first.',
      ),
      by_license: described(
        z.array(z.object({ ...subject, count: described(count, 'How many.') })),
        'The same.',
      ),
      by_user: described(
        z.array(z.object({ ...userFields, count: described(count, 'How many.') })),
        'The 50 who were denied most often.',
      ),
      denials: described(z.array(denialRecord), 'Newest first.'),
      left_off: described(count, 'How many more records there are.'),
    }),
  },
  'GET /api/admin/history/users': {
    query: z.object({
      ...span,
      user,
      search,
      by: described(
        z.enum(['day'], { error: 'must be "day"' }).optional(),
        'A row for each day, for up to 31 days. By default one for the whole time.',
      ),
      limit,
    }),
    answer: z.object({
      users: described(
        z.array(
          z.object({
            ...userFields,
            ...subject,
            day: described(text, 'The day, UTC, if by days.'),
            grants: described(count, 'How often a slot was lent.'),
            denials: described(count, 'How often a request was denied.'),
            sessions: described(count, 'How many slots were given back, taken back or expired.'),
            held_ms: described(count, 'How long those were held, in milliseconds.'),
            last_at: described(time, 'When something last happened, UTC.'),
          }),
        ),
        'One row for each user, license and feature.',
      ),
      left_off: described(count, 'How many more rows there are.'),
    }),
  },
  'GET /api/admin/history/consumption': {
    query: z.object({ ...span, feature }),
    answer: z.object({
      days: described(
        z.array(
          z.object({
            day: described(z.string(), 'The day, UTC.'),
            ...subject,
            amount: described(count, 'How much was added on that day; less than 0 if more was taken back.'),
          }),
        ),
        'Only days on which something was consumed; at most 10,000 rows.',
      ),
    }),
  },
  'GET /api/admin/history/waits': {
    query: z.object({ ...span, feature }),
    answer: z.object({
      waits: described(z.array(waits), 'Of each license and feature that users waited for.'),
    }),
  },
  'GET /api/admin/history/what-if': {
    query: z.object({
      ...span,
      license: described(strictLicenseId, 'The id of the license; not needed if there is only one.'),
      feature,
    }),
    answer: z.object({
      ...subject,
      slots: described(count, 'How many slots there are now.'),
      median_ms: described(count.nullable(), 'How long a slot was held; null if none was given back yet.'),
      waits,
      asked: described(count, 'How many requests found all slots in use, without their retries.'),
      enough: described(count, 'The smallest number of slots with which nobody would have been denied.'),
      curve: described(
        z.array(
          z.object({
            slots: described(count, 'With so many slots,'),
            denials: described(count, 'so many requests would have been denied,'),
            waiting_ms: described(
              count,
              'and would have waited so long, together: each until a slot was free, or its last retry.',
            ),
          }),
        ),
        'Fewer slots first, up to the larger of `slots` and `enough`; at most 62 of them.',
      ),
    }),
  },
  'POST /api/admin/history/forget': {
    body: z.object({ user: described(userName, 'Who is to be forgotten.') }),
    required: ['user'],
    answer: z.object({ forgotten: described(count, 'How many records named the user.') }),
  },
} as const satisfies Operations;

type AnswerOf<Report extends string> = z.output<
  (typeof HISTORY_API)[Extract<keyof typeof HISTORY_API, `GET /api/admin/history/${Report}`>]['answer']
>;

export type SlotHistory = AnswerOf<'slots'>;
export type SlotPoint = z.output<typeof slotPoint>;
export type Denials = AnswerOf<'denials'>;
export type UserHistory = AnswerOf<'users'>['users'][number];
export type Denial = z.output<typeof denialRecord>;
export type ConsumptionHistory = AnswerOf<'consumption'>;
export type Waits = z.output<typeof waits>;
export type WhatIf = AnswerOf<'what-if'>;
