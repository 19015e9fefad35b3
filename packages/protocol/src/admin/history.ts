import { z } from 'zod';
import { name, positiveInteger, strictLicenseId, told, userName } from '../fields.ts';
import { MOMENT_FORMS } from '../moment.ts';
import type { Operations } from './operation.ts';

const span = {
  since: told(name, `From when on: ${MOMENT_FORMS}; UTC. By default 30 days ago.`),
  until: told(name, 'Until when; a day that is named without a time belongs to it. By default now.'),
  license: told(strictLicenseId, 'Only this license, by its id.'),
};

const feature = told(name, 'Only this feature, by its code.');

const user = told(userName, 'Only this user.');

const limit = told(positiveInteger, 'How many rows at most, up to 10,000. By default 100.');

const count = z.int();

const time = z.string();

const text = z.string().nullable();

const subject = {
  license_id: told(count, 'The id of the license.'),
  product: told(z.string(), 'Its product code.'),
  name: told(z.string(), 'The name of the product.'),
  feature: told(text, 'The code of the feature; null for the license itself.'),
};

const somebody = {
  user: told(text, 'The user; null if none was named, and for others.'),
  others: told(z.boolean(), 'Whether this is the sum of all users that the history does not name.'),
};

const slotPoint = z
  .object({
    at: told(time, 'The start of the bucket, UTC.'),
    in_use: told(count, 'Slots in use at its end.'),
    average: told(z.number(), 'Slots in use on average, over time.'),
    peak: told(count, 'The most in use at once.'),
    borrowed: told(count, 'Borrowed slots at its end.'),
    grants: told(count, 'How many were lent.'),
    returns: told(count, 'How many were given back, taken back or expired.'),
    denials: told(count, 'How many requests were denied.'),
  })
  .meta({ id: 'SlotPoint', description: 'What happened in one step of time.' });

const seriesTotals = z.object({
  average: told(z.number(), 'Slots in use on average, over time.'),
  peak: told(count, 'The most in use at once.'),
  grants: told(count, 'How many were lent.'),
  returns: told(count, 'How many were given back, taken back or expired.'),
  denials: told(count, 'How many requests were denied.'),
});

const denialRecord = z
  .object({
    first_at: told(time, 'When the first of them was, UTC.'),
    last_at: told(time, 'When the last of them was, UTC.'),
    ...subject,
    reason: told(z.string(), 'The error code.'),
    ...somebody,
    host: told(text, 'The name of the host, as it was sent.'),
    address: told(text, 'The address of the connection.'),
    count: told(count, 'How many requests.'),
    explanation: told(z.string(), 'Why, in a sentence.'),
  })
  .meta({ id: 'DenialRecord', description: 'Denials of one user for one reason, close to each other.' });

export const HISTORY_API = {
  'GET /api/admin/history/slots': {
    query: z.object({
      ...span,
      feature,
      grain: told(
        z.enum(['auto', 'minute', 'hour', 'day'], { error: 'must be auto, minute, hour or day' }).optional(),
        'How fine the curve is. By default `auto`: at most 1,500 points, or 400 of each license for all.',
      ),
    }),
    answer: z.object({
      since: told(time, 'The start, UTC.'),
      until: told(time, 'The end, UTC.'),
      grain: told(z.string(), 'The grain that was chosen.'),
      step_ms: told(count, 'How long a step is, in milliseconds. Older parts of the history are coarser.'),
      series: told(
        z.array(
          z.object({
            ...subject,
            slots: told(count, 'How many slots there are now.'),
            totals: told(seriesTotals, 'Over the whole time.'),
            points: told(
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
    query: z.object({ ...span, feature, user, reason: told(name, 'Only this error code.'), limit }),
    answer: z.object({
      total: told(count, 'How many requests were denied.'),
      by_reason: told(
        z.array(z.object({ reason: told(z.string(), 'The error code.'), count: told(count, 'How many.') })),
        'The most frequent first.',
      ),
      by_license: told(z.array(z.object({ ...subject, count: told(count, 'How many.') })), 'The same.'),
      by_user: told(
        z.array(z.object({ ...somebody, count: told(count, 'How many.') })),
        'The 50 who were denied most often.',
      ),
      denials: told(z.array(denialRecord), 'Newest first.'),
      left_off: told(count, 'How many more records there are.'),
    }),
  },
  'GET /api/admin/history/users': {
    query: z.object({ ...span, user, limit }),
    answer: z.object({
      users: told(
        z.array(
          z.object({
            ...somebody,
            ...subject,
            grants: told(count, 'How often a slot was lent.'),
            denials: told(count, 'How often a request was denied.'),
            sessions: told(count, 'How many slots were given back, taken back or expired.'),
            held_ms: told(count, 'How long those were held, in milliseconds.'),
            last_at: told(time, 'When something last happened, UTC.'),
          }),
        ),
        'One row for each user, license and feature.',
      ),
      left_off: told(count, 'How many more rows there are.'),
    }),
  },
  'GET /api/admin/history/consumption': {
    query: z.object({ ...span, feature }),
    answer: z.object({
      days: told(
        z.array(
          z.object({
            day: told(z.string(), 'The day, UTC.'),
            ...subject,
            amount: told(count, 'How much was added on that day; less than 0 if more was taken back.'),
          }),
        ),
        'Only days on which something was consumed; at most 10,000 rows.',
      ),
    }),
  },
  'GET /api/admin/history/what-if': {
    query: z.object({
      ...span,
      license: told(strictLicenseId, 'The id of the license; not needed if there is only one.'),
      feature,
    }),
    answer: z.object({
      ...subject,
      slots: told(count, 'How many slots there are now.'),
      median_ms: told(count.nullable(), 'How long a slot was held; null if none was given back yet.'),
      asked: told(count, 'Denied requests without their retries.'),
      curve: told(
        z.array(
          z.object({
            slots: told(count, 'With so many slots,'),
            denials: told(count, 'so many requests would have been denied,'),
            waiting_ms: told(count, 'and would have waited so long for a free slot, together.'),
          }),
        ),
        'Fewer slots first, up to the number with which nobody would have been denied.',
      ),
    }),
  },
  'POST /api/admin/history/forget': {
    body: z.object({ user: told(userName, 'Who is to be forgotten.') }).meta({ required: ['user'] }),
    answer: z.object({ forgotten: told(count, 'How many records named the user.') }),
  },
} as const satisfies Operations;

type AnswerOf<Report extends string> = z.output<
  (typeof HISTORY_API)[Extract<keyof typeof HISTORY_API, `GET /api/admin/history/${Report}`>]['answer']
>;

export type SlotHistory = AnswerOf<'slots'>;
export type SlotSeries = SlotHistory['series'][number];
export type SlotPoint = z.output<typeof slotPoint>;
export type Denials = AnswerOf<'denials'>;
export type Denial = z.output<typeof denialRecord>;
export type ConsumptionHistory = AnswerOf<'consumption'>;
export type WhatIf = AnswerOf<'what-if'>;
