import type { Route } from '../http/route.ts';
import { createRoutes, type Services } from '../http/route-table.ts';
import { limitStore } from '../services/access/limit-store.ts';
import { createAuditTrail } from '../services/audit/audit-trail.ts';
import { listCloudBacklog } from '../services/cloud/cloud-link.ts';
import { createHistory } from '../services/history/history.ts';
import { createCatalogue } from '../services/lending/catalogue.ts';
import { createCounting } from '../services/lending/counting.ts';
import { createLending } from '../services/lending/lending.ts';
import type { TakeSlot } from '../services/lending/new-slots.ts';
import type { RunTask } from '../services/tasks/task.ts';
import type { Store } from '../store/store.ts';

/** Beyond it, all are made again: that takes a millisecond. */
const MAX_KNOWN = 100;

/** The routes of operators who are limited to products, by name: on a store that has only these. */
export function composeLimited(store: Store, services: Services, takeSlot: TakeSlot, runTask: RunTask) {
  const known = new Map<string, ReadonlyMap<string, Route>>();
  return (products: readonly string[]): ReadonlyMap<string, Route> => {
    const key = JSON.stringify(products);
    const found =
      known.get(key) ??
      namedRoutes(createRoutes(limitServices(store, services, takeSlot, runTask, products)));
    if (known.size >= MAX_KNOWN) known.clear();
    known.set(key, found);
    return found;
  };
}

function namedRoutes(routes: readonly Route[]): ReadonlyMap<string, Route> {
  return new Map(routes.map((route) => [route.name, route]));
}

/** Those that routes with `isForProducts` use; the others see everything. */
function limitServices(
  store: Store,
  services: Services,
  takeSlot: TakeSlot,
  runTask: RunTask,
  products: readonly string[],
): Services {
  const limited = limitStore(store, products);
  const { feed, cloudLink, settings } = services;
  const takeAimed: TakeSlot = async (command, patience) => {
    const aimed = await limited.aim(command);
    return aimed.kind === 'refused' ? aimed : takeSlot(aimed, patience);
  };
  return {
    ...services,
    audit: createAuditTrail(limited),
    catalogue: createCatalogue(limited),
    cloudLink: { ...cloudLink, listBacklog: () => listCloudBacklog(limited) },
    counting: createCounting(limited, takeAimed),
    feed: { ...feed, subscribe: (options) => feed.subscribe({ ...options, pick: limited.pickLinks }) },
    history: createHistory(limited, settings.current.history, runTask),
    lending: createLending(limited, takeAimed),
  };
}
