import type { GetQuery } from '@berth/protocol/admin/admin-api';

export type SlotQuery = GetQuery<'/api/admin/registrations'>;

export interface Filters {
  readonly license: string | null;
  readonly state: string | null;
  readonly feature: string | null;
  readonly search: string;
  readonly sort: string;
  readonly direction: 'up' | 'down';
}

export const NO_FILTERS = { license: null, state: null, feature: null, search: null };

export function readFilters(params: URLSearchParams): Filters {
  return {
    license: params.get('license'),
    state: params.get('state'),
    feature: params.get('feature'),
    search: params.get('search') ?? '',
    sort: params.get('sort') ?? 'since',
    direction: params.get('direction') === 'down' ? 'down' : 'up',
  };
}

/** As the server wants it. */
export function queryOf({ license, state, feature, search, sort, direction }: Filters): SlotQuery {
  return { license_id: license, state, feature, search, sort, direction };
}
