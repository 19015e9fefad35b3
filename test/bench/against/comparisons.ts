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
  readonly goal: Goal;
}

/** Against the other; what is left out has no target. */
export interface Goal {
  readonly leastRatio?: number;
  /** Of the other's processor time for a request. */
  readonly mostCpuShare?: number;
  readonly needsLowerP99?: boolean;
}

/** Connections, and how many times the rate of the commit before it a change for speed must have. */
const LEAST_GAINS = [
  { connections: 64, least: 2 },
  { connections: 16, least: 1.8 },
] as const;

function both(name: string, wish: LoadWish, goal: Goal): Comparison {
  return { name, ours: wish, theirs: wish, goal };
}

/** Everything, because both have the same licenses. */
function compareCheckouts(): readonly Comparison[] {
  return LEAST_GAINS.flatMap(({ connections, least: leastRatio }) => {
    const at = `${connections} connections`;
    // With 10 slots every connection has a license of its own, and most of the cost is that of the licenses.
    const churnGoal = (slots: number): Goal => (slots === 10 ? {} : { leastRatio });
    return [
      both('heartbeat', renewal(`heartbeat, ${at}`, connections), { leastRatio, mostCpuShare: 0.5 }),
      both('consumption', counting(`consumption, ${at}`, connections), { leastRatio }),
      ...SIZES.map((size) => both('churn', churnOfSize(size, connections), churnGoal(size.slots))),
      ...SIZES.map((size) => both('slots', renewalOf(size, connections), { leastRatio })),
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
    goal: kind === 'relay' ? goalAgainstRelay(name, slots, wish.connections) : {},
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
    goal: {},
  };
}

/** What Berth aims at against a relay that keeps to one connection to its database. */
function goalAgainstRelay(name: string, slots: number, connections: number): Goal {
  if (name === 'churn') return slots >= 50_000 ? { leastRatio: 100 } : {};
  return connections === 64 ? { leastRatio: 5 } : { needsLowerP99: true };
}

export function listComparisons(kind: PeerWish['kind'], license: PeerLicense): readonly Comparison[] {
  return kind === 'checkout' ? compareCheckouts() : compareFound(kind, license);
}
