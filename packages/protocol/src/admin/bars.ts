import { z } from 'zod';
import { described, hostText, name, userName } from '../fields.ts';
import { BAR_KINDS } from './choices.ts';
import type { Operations } from './operation.ts';

const patternFields = {
  kind: described(
    z.enum(BAR_KINDS, { error: `must be one of ${BAR_KINDS.join(', ')}` }).optional(),
    `What is barred: ${BAR_KINDS.join(', ')}.`,
  ),
  pattern: described(name, 'A name in which * stands for any characters, or an address or a range.'),
};

const barFacts = {
  kind: described(z.enum(BAR_KINDS), 'What is barred.'),
  pattern: described(z.string(), 'A name in which * stands for any characters, or an address or a range.'),
  note: described(z.string().nullable(), 'Why, for administrators.'),
};

const barObject = z
  .object({
    ...barFacts,
    by: described(z.string(), 'Who barred it.'),
    at: described(z.string(), 'When, UTC.'),
  })
  .meta({ id: 'Bar', description: 'A bar that is kept in the store, besides the rules file.' });

const barringObject = z
  .object({
    source: described(
      z.enum(['rules_file', 'bar']),
      'Whether it is in the rules file, or was added by a command.',
    ),
    ...barFacts,
  })
  .meta({ id: 'Barring', description: 'A rule or a bar that matches.' });

const barring = z.array(barringObject);

export type Bar = z.output<typeof barObject>;

export const BAR_API = {
  'GET /api/admin/bars': {
    answer: z.object({ bars: described(z.array(barObject), 'By kind and pattern.') }),
  },
  'POST /api/admin/bars': {
    body: z.object({ ...patternFields, note: described(hostText, 'Why, for administrators.') }).meta({
      examples: [{ kind: 'user', pattern: 'fay', note: 'left the company' }],
    }),
    required: ['kind', 'pattern'],
    answer: z.object({ added: described(z.int(), '1, or 0 if it was barred before with the same note.') }),
  },
  'POST /api/admin/bars/remove': {
    body: z.object(patternFields).meta({ examples: [{ kind: 'user', pattern: 'fay' }] }),
    required: ['kind', 'pattern'],
    answer: z.object({
      removed: described(z.int(), '1, or 0 if there was no such bar.'),
      still_barred_by: described(barring, 'What else matches.'),
    }),
  },
  'GET /api/admin/rules/why': {
    query: z.object({
      user: described(userName, 'A user.'),
      host: described(name, 'The name of a host.'),
      address: described(name, 'An address.'),
    }),
    answer: z.object({ barred_by: described(barring, 'Empty if nothing bars them.') }),
  },
} as const satisfies Operations;
