import type { Command, Target } from '../../core/command.ts';
import type { LicenseId } from '../../core/nouns/license.ts';
import type { Refused } from '../../core/outcome.ts';
import type { AuditLink, Query } from '../../store/query.ts';
import type { Executed, Store } from '../../store/store.ts';
import { listMeant } from '../lending/catalogue.ts';

/** A store as an operator sees it who is limited to products. */
interface LimitedStore extends Store {
  /** Pins a command to one of the products; refuses it as a server would that has no others. */
  aim<C extends Command & Target>(command: C): Promise<C | Refused>;
  /** Those about the products. */
  pickLinks(links: readonly AuditLink[]): Promise<readonly AuditLink[]>;
}

/**
 * The same store without all other products: what it answers about them is what it answers about products
 * that do not exist. Queries and commands that are not named here fail, so a new one reveals nothing.
 */
export function limitStore(store: Store, products: readonly string[]): LimitedStore {
  const isOurs = ({ product }: { readonly product: string }) => products.includes(product);
  const listIds = async () => {
    const all = await store.read({ kind: 'list_products' });
    return all.filter(isOurs).map(({ licenseId }) => licenseId);
  };
  const listLicenses = async (product: string | null) => {
    const all = await store.read({ kind: 'list_licenses', product });
    return all.filter(({ license }) => isOurs(license));
  };

  async function aim<C extends Target>(command: C): Promise<C | Refused> {
    const meant = listMeant(await listLicenses(null), command);
    return 'kind' in meant ? meant : { ...command, product: meant[0]?.license.product ?? null };
  }

  async function read(query: Query, signal?: AbortSignal): Promise<unknown> {
    switch (query.kind) {
      case 'list_licenses':
        return listLicenses(query.product);
      case 'list_backlog':
        return (await store.read(query)).filter(isOurs);
      case 'list_registrations':
        return store.read({ ...query, among: await listIds() }, signal);
      case 'search_audit':
        return store.read({ ...query, chains: pickChains(query.chains, await listIds()) }, signal);
      case 'list_slot_history':
      case 'list_denial_history':
      case 'list_user_history':
      case 'list_consumption_history':
      case 'list_wait_history':
        return store.read(pickLicense(query, await listIds()), signal);
      case 'begin_what_if':
        return (await listIds()).includes(query.licenseId) ? store.read(query, signal) : null;
      case 'list_what_if_buckets':
      case 'list_what_if_denials':
        return (await listIds()).includes(query.licenseId) ? store.read(query, signal) : [];
      default:
        throw new Error(`"${query.kind}" cannot be asked of some products.`);
    }
  }

  return {
    aim,
    async pickLinks(links) {
      const ids: readonly number[] = await listIds();
      return links.filter(({ chain }) => ids.includes(chain));
    },
    read: read as Store['read'],
    execute: (command) => executeAimed(store, command, { aim, listIds }),
    listWaiting: () => store.listWaiting(products),
    keepClock: () => store.keepClock(),
    isHealthy: () => store.isHealthy(),
    isLeader: () => store.isLeader(),
    tally: store.tally,
    turns: store.turns,
    listPools: () => [],
    close: async () => {},
  };
}

interface Aiming {
  aim<C extends Target>(command: C): Promise<C | Refused>;
  listIds(): Promise<readonly LicenseId[]>;
}

async function executeAimed(store: Store, command: Command, { aim, listIds }: Aiming): Promise<Executed> {
  switch (command.kind) {
    case 'register':
    case 'borrow':
    case 'unregister':
    case 'register_feature':
    case 'release_feature':
    case 'add_consumption':
    case 'release':
    case 'recall': {
      const aimed = await aim(command);
      return aimed.kind === 'refused' ? aimed : store.execute(aimed);
    }
    case 'release_from':
      if ((await listIds()).includes(command.licenseId)) return store.execute(command);
  }
  throw new Error(`"${command.kind}" cannot be limited to products.`);
}

/** No license has this id. An empty list would search all chains, and so end a page elsewhere. */
const NO_CHAIN = [-1];

function pickChains(asked: readonly number[] | null, ids: readonly number[]): readonly number[] {
  const meant = asked === null ? ids : ids.filter((id) => asked.includes(id));
  return meant.length === 0 ? NO_CHAIN : meant;
}

function pickLicense<Q extends { readonly licenseId: LicenseId | null }>(
  query: Q,
  ids: readonly LicenseId[],
) {
  const { licenseId } = query;
  if (licenseId === null) return { ...query, among: ids };
  return ids.includes(licenseId) ? query : { ...query, licenseId: null, among: [] };
}
