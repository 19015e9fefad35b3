import type { Bar } from '@berth/protocol/admin/bars';
import { post } from './api.ts';
import { useResource } from './resource.ts';
import { session } from './session.ts';
import { useValue } from './value.ts';

/** The bars; `null` if they cannot be read, so that the page does not offer to bar users. */
export function useBars(): {
  readonly bars: readonly Bar[] | null;
  readonly canBar: boolean;
  reload(): void;
} {
  const isAllowed = useValue(session)?.role !== 'user';
  const { data, reload } = useResource(isAllowed ? '/api/admin/bars' : null, {}, { isLive: true });
  return { bars: data?.bars ?? null, canBar: data !== null && session.get()?.role === 'admin', reload };
}

export async function addBar(kind: Bar['kind'], pattern: string): Promise<void> {
  await post('/api/admin/bars', { kind, pattern });
}

export async function removeBar(kind: Bar['kind'], pattern: string): Promise<void> {
  await post('/api/admin/bars/remove', { kind, pattern });
}
