import { told } from '@berth/protocol/fields';
import { z } from 'zod';
import { CHECKS, SEVERITIES } from '../../../core/doctor/finding.ts';
import type { Doctor } from '../../../services/doctor/doctor.ts';
import { json, jsonText } from '../../reply/reply.ts';
import { defineRoute, type Route } from '../../route.ts';

const findingObject = z
  .object({
    check: told(z.enum(CHECKS), 'What was examined.'),
    severity: told(z.enum(SEVERITIES), 'How bad it is.'),
    text: told(z.string(), 'What was found.'),
    advice: told(z.string().nullable(), 'What to do about it; null if all is well.'),
  })
  .meta({ id: 'Finding', description: 'What an examination of the server has found.' });

const logLine = z
  .looseObject({
    level: told(z.string(), 'How serious it is.'),
    time: told(z.string(), 'When it was written, UTC.'),
    msg: told(z.string(), 'The message.'),
  })
  .meta({ id: 'LogLine', description: 'A line of the log. Its other fields are facts about the message.' });

interface DoctorServices {
  readonly doctor: Doctor;
  /** As JSON, the oldest first. */
  readonly listLogLines: () => readonly string[];
}

export function doctorRoutes({ doctor, listLogLines }: DoctorServices): readonly Route[] {
  return [
    defineRoute({
      name: 'admin_doctor',
      methods: ['GET'],
      paths: ['/api/admin/doctor'],
      access: 'operator',
      summary: 'Examine the server: disk, permissions, clock, cloud, certificate, database and exposure',
      answer: { kind: 'json', schema: z.object({ findings: told(z.array(findingObject), 'All of them.') }) },
      errors: [],
      handle: async () => json({ findings: await doctor.examine() }),
    }),
    defineRoute({
      name: 'admin_log',
      methods: ['GET'],
      paths: ['/api/admin/log'],
      access: 'admin',
      summary: 'The newest lines of the log since the start, the oldest first',
      answer: { kind: 'json', schema: z.object({ lines: told(z.array(logLine), 'At most 500.') }) },
      errors: [],
      handle: () => jsonText(`{"lines":[${listLogLines().join(',')}]}`),
    }),
  ];
}
