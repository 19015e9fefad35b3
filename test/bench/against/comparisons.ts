import { PRODUCTS } from '../bench-licenses.ts';
import type { LoadWish } from '../bench-run.ts';
import type { RequestPlan } from '../load/load-plan.ts';
import { USER_MARK } from '../load/load-plan.ts';
import { churnOfSize, counting, holders, newcomers, renewal, renewalOf, SIZES } from '../loads.ts';
import { consumptionPlan, registerPlan, unregisterPlan } from '../requests.ts';
import type { PeerWish } from './peer.ts';

/** What is known of a server that somebody else has started. */
export interface PeerLicense {
  readonly product: string;
  /** `null`: it has none, and consumption is not compared. */
  readonly countingProduct: string | null;
  readonly slots: number;
}

/** What both are asked to do, and what is expected of the ratio. */
export interface Comparison {
  /** Of the scenario that it belongs to. */
  readonly name: string;
  readonly ours: LoadWish;
  readonly theirs: LoadWish;
  readonly leastRatio: number | null;
  /** Of the other's processor time for a request. */
  readonly mostCpuShare: number | null;
}

/** Connections, and how many times the rate of the commit before it a change for speed must have. */
const LEAST_GAINS = [
  { connections: 64, least: 2 },
  { connections: 16, least: 1.8 },
] as const;

function both(
  name: string,
  wish: LoadWish,
  leastRatio: number,
  mostCpuShare: number | null = null,
): Comparison {
  return { name, ours: wish, theirs: wish, leastRatio, mostCpuShare };
}

/** Everything, because both have the same licenses. */
function compareCheckouts(): readonly Comparison[] {
  return LEAST_GAINS.flatMap(({ connections, least }) => {
    const at = `${connections} connections`;
    return [
      both('heartbeat', renewal(`heartbeat, ${at}`, connections), least, 0.5),
      both('consumption', counting(`consumption, ${at}`, connections), least),
      ...SIZES.map((size) => both('churn', churnOfSize(size, connections), least)),
      ...SIZES.map((size) => both('slots', renewalOf(size, connections), least)),
    ];
  });
}

/** Of two kinds of server, each asked in its own words. */
interface Words {
  readonly renew: RequestPlan;
  readonly release: RequestPlan;
}

function relayWords(): Words {
  const node = { path: `/v1/nodes/user-${USER_MARK}`, body: '' };
  return {
    renew: { method: 'PUT', ...node, statuses: [201, 202] },
    release: { method: 'DELETE', ...node, statuses: [204] },
  };
}

function berthWords(product: string): Words {
  return { renew: registerPlan(product), release: unregisterPlan(product) };
}

/** Ours has the license whose size comes next. */
function productFor(slots: number): string {
  return SIZES.find((size) => size.slots >= slots)?.product ?? PRODUCTS.half100000;
}

/** With a server as it was found: what its one license has room for. */
function compareFound(kind: PeerWish['kind'], license: PeerLicense): readonly Comparison[] {
  const { product, countingProduct, slots } = license;
  const [ours, theirs] = [
    berthWords(productFor(slots)),
    kind === 'relay' ? relayWords() : berthWords(product),
  ];
  const size = `${slots.toLocaleString('en')} slots`;
  const pair = (name: string, wish: Omit<LoadWish, 'requests'>, words: (of: Words) => RequestPlan[]) => ({
    ...{ name, ours: { ...wish, requests: words(ours) }, theirs: { ...wish, requests: words(theirs) } },
    ...{ leastRatio: leastAgainst(kind, name, slots, wish.connections), mostCpuShare: null },
  });
  return [64, 16].flatMap((connections) => {
    const at = `${size}, ${connections} connections`;
    const users = holders(Math.min(slots, 64));
    const churn = {
      label: `register + unregister, ${at}`,
      connections,
      users: newcomers(slots / 2, 'random'),
    };
    return [
      pair('heartbeat', { label: `heartbeat, ${at}`, connections, users }, (of) => [of.renew]),
      ...(slots / 2 < connections + 64 ? [] : [pair('churn', churn, (of) => [of.renew, of.release])]),
      ...(countingProduct === null ? [] : [countingPair(countingProduct, connections)]),
    ];
  });
}

function countingPair(product: string, connections: number): Comparison {
  const wish = { label: `consumption, ${connections} connections`, connections, users: holders(64) };
  return {
    name: 'consumption',
    ours: { ...wish, requests: [consumptionPlan(PRODUCTS.count)] },
    theirs: { ...wish, requests: [consumptionPlan(product)] },
    leastRatio: null,
    mostCpuShare: null,
  };
}

/** What Berth aims at against a relay that keeps to one connection to its database. */
function leastAgainst(
  kind: PeerWish['kind'],
  name: string,
  slots: number,
  connections: number,
): number | null {
  if (kind !== 'relay') return null;
  if (name === 'churn') return slots >= 50_000 ? 100 : null;
  return connections === 64 ? 5 : null;
}

export function listComparisons(kind: PeerWish['kind'], license: PeerLicense): readonly Comparison[] {
  return kind === 'checkout' ? compareCheckouts() : compareFound(kind, license);
}
