import { z } from 'zod';
import { hostText, name, told, userName } from '../fields.ts';
import { BAR_KINDS } from './choices.ts';
import type { Operations } from './operation.ts';

const patternFields = {
  kind: told(
    z.enum(BAR_KINDS, { error: `must be one of ${BAR_KINDS.join(', ')}` }).optional(),
    'What is barred.',
  ),
  pattern: told(name, 'A name in which * stands for any characters, or an address or a range.'),
};

const barFacts = {
  kind: told(z.enum(BAR_KINDS), 'What is barred.'),
  pattern: told(z.string(), 'A name in which * stands for any characters, or an address or a range.'),
  note: told(z.string().nullable(), 'Why, for administrators.'),
};

const barObject = z
  .object({
    ...barFacts,
    by: told(z.string(), 'Who barred it.'),
    at: told(z.string(), 'When, UTC.'),
  })
  .meta({ id: 'Bar', description: 'A bar that is kept in the store, besides the rules file.' });

const barringObject = z
  .object({
    source: told(
      z.enum(['rules_file', 'bar']),
      'Whether it is in the rules file, or was added by a command.',
    ),
    ...barFacts,
  })
  .meta({ id: 'Barring', description: 'A rule or a bar that matches.' });

const barring = z.array(barringObject);

export type Bar = z.output<typeof barObject>;

const denyList = z.object({
  users: told(z.array(z.string()), 'By their names.'),
  hosts: told(z.array(z.string()), 'By the names of their hosts.'),
  addresses: told(z.array(z.string()), 'By their addresses.'),
});

const rulesObject = z.object({
  file: told(z.string(), 'The rules file.'),
  deny: told(denyList, 'Whom the rules of the file bar now.'),
  bars: told(z.array(barObject), 'Who else is barred, by commands.'),
  digest: told(z.string(), 'A digest of the rules of the file, which is also in the audit log.'),
  changed_at: told(z.string().nullable(), 'Since when they apply, UTC; null if there have never been any.'),
  error: told(z.string().nullable(), 'Why the current file is not valid.'),
});

export const BAR_API = {
  'GET /api/admin/rules': { answer: rulesObject },
  'GET /api/admin/bars': { answer: z.object({ bars: told(z.array(barObject), 'By kind and pattern.') }) },
  'POST /api/admin/bars': {
    body: z.object({ ...patternFields, note: told(hostText, 'Why, for administrators.') }).meta({
      required: ['kind', 'pattern'],
      examples: [{ kind: 'user', pattern: 'fay', note: 'left the company' }],
    }),
    answer: z.object({ added: told(z.int(), '1, or 0 if it was barred before with the same note.') }),
  },
  'POST /api/admin/bars/remove': {
    body: z
      .object(patternFields)
      .meta({ required: ['kind', 'pattern'], examples: [{ kind: 'user', pattern: 'fay' }] }),
    answer: z.object({
      removed: told(z.int(), '1, or 0 if there was no such bar.'),
      still_barred_by: told(barring, 'What else matches.'),
    }),
  },
  'GET /api/admin/rules/why': {
    query: z.object({
      user: told(userName, 'A user.'),
      host: told(name, 'The name of a host.'),
      address: told(name, 'An address.'),
    }),
    answer: z.object({ barred_by: told(barring, 'Empty if nothing bars them.') }),
  },
} as const satisfies Operations;
