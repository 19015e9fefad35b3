import { z } from 'zod';
import { described } from '../fields.ts';
import { SETTING_SOURCES } from './choices.ts';
import type { Operations } from './operation.ts';

const value = z.union([z.string(), z.number(), z.boolean(), z.array(z.string())]);

const settingObject = z
  .object({
    name: described(z.string(), 'Its name in berth.yaml.'),
    value: described(value, 'The value in force, without secrets.'),
    source: described(
      z.enum(SETTING_SOURCES),
      'Where the value comes from; each counts before the ones that follow it.',
    ),
    place: described(z.string().nullable(), 'The flag, the variable or the file with the value.'),
    is_live: described(z.boolean(), 'Whether running servers apply a change at once.'),
    changed_by: described(z.string().nullable(), 'Who changed the stored value.'),
    changed_at: described(z.string().nullable(), 'When, UTC.'),
    about: described(z.string(), 'What it is for.'),
    choices: described(z.array(z.string()).nullable(), 'The allowed words; null: it is not a choice.'),
  })
  .meta({ id: 'Setting', description: 'A setting; docs/settings.md describes all of them.' });

const settings = z.object({ settings: described(z.array(settingObject), 'All of them.') });

export type Setting = z.output<typeof settingObject>;

export const SETTING_API = {
  'GET /api/admin/settings': { answer: settings },
  'POST /api/admin/settings': {
    body: z
      .object({
        changes: described(
          z
            .record(z.string(), value.nullable(), { error: 'must have the names and the values of settings' })
            .optional(),
          'New values by the names of the settings; null removes a stored value.',
        ),
      })
      .meta({ examples: [{ changes: { 'page.name': 'Kestrel' } }] }),
    required: ['changes'],
    answer: settings,
  },
} as const satisfies Operations;
