import { told } from '@berth/protocol/fields';
import { z } from 'zod';
import { CHECKS, SEVERITIES } from '../../../core/doctor/finding.ts';
import type { Doctor } from '../../../services/doctor/doctor.ts';
import { json } from '../../reply/reply.ts';
import { defineRoute, type Route } from '../../route.ts';

const findingObject = z
  .object({
    check: told(z.enum(CHECKS), 'What was examined.'),
    severity: told(z.enum(SEVERITIES), 'How bad it is.'),
    text: told(z.string(), 'What was found.'),
    advice: told(z.string().nullable(), 'What to do about it; null if all is well.'),
  })
  .meta({ id: 'Finding', description: 'What an examination of the server has found.' });

export function doctorRoutes(doctor: Doctor): readonly Route[] {
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
  ];
}
