import type { Config } from '../config.ts';
import { createHistory } from '../services/history/history.ts';
import { createCounting } from '../services/lending/counting.ts';
import { createLending } from '../services/lending/lending.ts';
import { createTakeSlot } from '../services/lending/new-slots.ts';
import { createOversight } from '../services/lending/oversight.ts';
import type { Store } from '../store/store.ts';

/** The services that need nothing but the store. */
export function composeLending(store: Store, config: Config, readMonotonicMs: () => number) {
  const takeSlot = createTakeSlot(store, { ...config.limits, readMonotonicMs });
  return {
    counting: createCounting(store, takeSlot),
    lending: createLending(store, config.limits, takeSlot),
    oversight: createOversight(store),
    history: createHistory(store, config.history),
  };
}
