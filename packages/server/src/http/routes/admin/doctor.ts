import { DOCTOR_API } from '@berth/protocol/admin/doctor';
import type { Doctor } from '../../../services/doctor/doctor.ts';
import { adminRoutes } from '../../admin-route.ts';
import type { Route } from '../../route.ts';

interface DoctorServices {
  readonly doctor: Doctor;
  /** As JSON, the oldest first. */
  readonly listLogLines: () => readonly string[];
}

export function doctorRoutes({ doctor, listLogLines }: DoctorServices): readonly Route[] {
  return adminRoutes(DOCTOR_API, {
    'GET /api/admin/doctor': {
      name: 'admin_doctor',
      access: 'viewer',
      summary: 'Examine the server: disk, permissions, clock, cloud, certificate, database and exposure',
      handle: async (_, send) => send({ findings: await doctor.examine() }),
    },
    'GET /api/admin/log': {
      name: 'admin_log',
      access: 'admin',
      summary: 'The newest lines of the log since the start, the oldest first',
      handle: (_, send) => send({ lines: listLogLines().map((line) => JSON.parse(line)) }),
    },
  });
}
