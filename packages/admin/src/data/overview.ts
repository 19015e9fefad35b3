import type { GetPath, GetQuery } from '@berth/protocol/admin/admin-api';
import { useResource } from './resource.ts';
import { may, session } from './session.ts';
import { useValue } from './value.ts';

/** The doctor looks at disks and the cloud, so it is not asked often. */
const DOCTOR_MS = 5 * 60_000;
const STATUS_MS = 60_000;
/** Whoever begins to wait causes no event. */
const LINE_MS = 2000;

/** Reads nothing while this account may not. */
export function useAllowed<P extends GetPath>(
  path: P,
  params: GetQuery<P>,
  options: Parameters<typeof useResource>[2],
) {
  useValue(session);
  return useResource(may(`GET ${path}`) ? path : null, params, options);
}

export function useLicenses() {
  return useAllowed('/api/admin/licenses', {}, { isLive: true, everyMs: STATUS_MS });
}

export function useStatus() {
  return useAllowed('/api/admin/status', {}, { isLive: true, everyMs: STATUS_MS });
}

export function useLine() {
  return useAllowed('/api/admin/line', {}, { isLive: true, everyMs: LINE_MS });
}

export function useFindings() {
  return useAllowed('/api/admin/doctor', {}, { everyMs: DOCTOR_MS });
}
