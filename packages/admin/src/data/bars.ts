import type { Bar } from '@berth/protocol/admin/bars';
import { post } from './api.ts';
import { useResource } from './resource.ts';
import { may, session } from './session.ts';
import { useValue } from './value.ts';

/** The bars; `null` if they cannot be read, so that the page does not offer to bar users. */
export function useBars(): {
  readonly bars: readonly Bar[] | null;
  readonly canBar: boolean;
  reload(): void;
} {
  useValue(session);
  const { data, reload } = useResource(
    may('GET /api/admin/bars') ? '/api/admin/bars' : null,
    {},
    { isLive: true },
  );
  return { bars: data?.bars ?? null, canBar: data !== null && may('POST /api/admin/bars'), reload };
}

export async function addBar(kind: Bar['kind'], pattern: string): Promise<void> {
  await post('/api/admin/bars', { kind, pattern });
}

export async function removeBar(kind: Bar['kind'], pattern: string): Promise<void> {
  await post('/api/admin/bars/remove', { kind, pattern });
}
