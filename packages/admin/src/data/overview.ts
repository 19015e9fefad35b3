import type { Finding } from '@berth/protocol/admin/doctor';
import type { License } from '@berth/protocol/admin/licenses';
import type { Status } from '@berth/protocol/admin/status';
import { type Resource, useResource } from './resource.ts';
import { session } from './session.ts';
import { useValue } from './value.ts';

/** The doctor looks at disks and the cloud, so it is not asked often. */
const DOCTOR_MS = 5 * 60_000;
const STATUS_MS = 60_000;

export interface Licenses {
  readonly licenses: readonly License[];
}

function isAllowed(found: ReturnType<typeof session.get>): boolean {
  return found != null && found.role !== 'user' && !found.must_set_password;
}

export function useLicenses(): Resource<Licenses> {
  const may = isAllowed(useValue(session));
  return useResource(may ? '/api/admin/licenses' : null, {}, { isLive: true, everyMs: STATUS_MS });
}

export function useStatus(): Resource<Status> {
  const may = isAllowed(useValue(session));
  return useResource(may ? '/api/admin/status' : null, {}, { isLive: true, everyMs: STATUS_MS });
}

export function useFindings(): Resource<{ readonly findings: readonly Finding[] }> {
  const may = isAllowed(useValue(session));
  return useResource(may ? '/api/admin/doctor' : null, {}, { everyMs: DOCTOR_MS });
}
