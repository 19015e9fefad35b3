import { z } from 'zod';
import { described } from '../fields.ts';
import { CHECKS, SEVERITIES } from './choices.ts';
import type { Operations } from './operation.ts';

const findingObject = z
  .object({
    check: described(z.enum(CHECKS), 'What was examined.'),
    severity: described(z.enum(SEVERITIES), 'How bad it is.'),
    text: described(z.string(), 'What was found.'),
    advice: described(z.string().nullable(), 'What to do about it; null if all is well.'),
  })
  .meta({ id: 'Finding', description: 'What an examination of the server has found.' });

const logLine = z
  .looseObject({
    level: described(z.string(), 'How serious it is.'),
    time: described(z.string(), 'When it was written, UTC.'),
    msg: described(z.string(), 'The message.'),
  })
  .meta({ id: 'LogLine', description: 'A line of the log. Its other fields are facts about the message.' });

export type Finding = z.output<typeof findingObject>;

export const DOCTOR_API = {
  'GET /api/admin/doctor': {
    answer: z.object({ findings: described(z.array(findingObject), 'All of them.') }),
  },
  'GET /api/admin/log': { answer: z.object({ lines: described(z.array(logLine), 'At most 500.') }) },
} as const satisfies Operations;
