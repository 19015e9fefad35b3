import type { Slot } from '@berth/protocol/admin/registrations';
import { useEffect, useRef, useState } from 'preact/hooks';
import { type ApiError, get } from '../../data/api.ts';
import { may } from '../../data/session.ts';
import { showToast } from '../../parts/toasts.tsx';
import { FREEING } from './slot-actions.ts';
import { type Filters, queryOf } from './slot-filters.ts';
import { keyOf } from './slot-row.tsx';

/** As many as the server lists at once; each is released by a request of its own. */
export const MAX_PICKED = 1000;

type Picked = ReadonlyMap<string, Slot>;

export interface PickedSlots {
  readonly slots: Picked;
  /** Picks a slot, or no longer. `isRange`: with all between it and the one before. */
  pick(slot: Slot, index: number, isRange: boolean): void;
  /** Everything that the filters show, or nothing if it was picked before. */
  pickAll(matched: number): void;
  clear(): void;
}

/**
 * The rows that are selected to be released. Other filters begin anew, so that nothing is released that is
 * not in sight.
 */
export function usePicked(filters: Filters): PickedSlots {
  const [slots, setSlots] = useState<Picked>(new Map());
  const anchor = useRef(0);
  const clear = () => setSlots(new Map());
  const { license, state, feature, search } = filters;
  useEffect(clear, [license, state, feature, search]);
  const add = async (from: number, to: number) => {
    try {
      const query = { ...queryOf(filters), offset: from, limit: to - from + 1 };
      const { registrations } = await get('/api/admin/registrations', query);
      setSlots((before) => cut([...before, ...registrations.map((slot) => [keyOf(slot), slot] as const)]));
    } catch (error) {
      showToast(`The slots were not selected. ${(error as ApiError).message}`);
    }
  };
  return {
    slots,
    clear,
    pick(slot, index, isRange) {
      if (!may(FREEING)) return;
      const [from, to] = [Math.min(anchor.current, index), Math.max(anchor.current, index)];
      anchor.current = index;
      if (isRange) void add(from, Math.min(to, from + MAX_PICKED - 1));
      else setSlots((before) => toggle(before, slot));
    },
    pickAll(matched) {
      if (!may(FREEING)) return;
      if (slots.size >= Math.min(matched, MAX_PICKED)) clear();
      else void add(0, MAX_PICKED - 1);
    },
  };
}

function cut(entries: readonly (readonly [string, Slot])[]): Picked {
  return new Map([...new Map(entries)].slice(0, MAX_PICKED));
}

function toggle(picked: Picked, slot: Slot): Picked {
  const next = new Map(picked);
  if (!next.delete(keyOf(slot))) next.set(keyOf(slot), slot);
  return cut([...next]);
}
