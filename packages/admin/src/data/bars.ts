import { post } from './api.ts';
import { useResource } from './resource.ts';
import { session } from './session.ts';
import { useValue } from './value.ts';

/** A bar that is kept in the store, in addition to those in the rules file. */
export interface Bar {
  readonly kind: 'user' | 'host' | 'address';
  readonly pattern: string;
  readonly at?: string | null;
  readonly by?: string | null;
}

/** The bars; `null` if this server keeps none, so that nothing offers to bar anybody. */
export function useBars(): {
  readonly bars: readonly Bar[] | null;
  readonly canBar: boolean;
  reload(): void;
} {
  const isAllowed = useValue(session)?.role !== 'user';
  const { data, reload } = useResource<{ bars: readonly Bar[] }>(
    isAllowed ? 'api/admin/bars' : null,
    {},
    { isLive: true },
  );
  return { bars: data?.bars ?? null, canBar: data !== null && session.get()?.role === 'admin', reload };
}

export async function addBar(kind: Bar['kind'], pattern: string): Promise<void> {
  await post('api/admin/bars', { kind, pattern });
}

export async function removeBar(kind: Bar['kind'], pattern: string): Promise<void> {
  await post('api/admin/bars/remove', { kind, pattern });
}
