import { PRODUCTS } from './bench-licenses.ts';
import {
  type BenchRun,
  type Contested,
  HEARTBEATS,
  judgeRate,
  type LoadWish,
  type RateRatio,
} from './bench-run.ts';
import { churnOf, counting, holders, newcomers } from './loads.ts';
import { postgresRules } from './postgres-rules.ts';
import { MANY_LICENSES } from './postgres-servers.ts';
import { OWN_PRODUCT, registerPlan } from './requests.ts';
import { CONNECTIONS, type Scenario, type Verdict } from './scenarios.ts';
import type { BenchServer } from './servers.ts';

/** What requests that share transactions must at least gain on a license that all of them are about. */
const LEAST_GAIN = 4;

function times({ whole, least, most }: RateRatio): string {
  return `${whole.toFixed(1)} × (${least.toFixed(1)}–${most.toFixed(1)})`;
}

function hundredths({ whole, least, most }: RateRatio): string {
  return `${whole.toFixed(2)} × (${least.toFixed(2)}–${most.toFixed(2)})`;
}

/** Many connections beside a single one, whose requests have a transaction each. */
async function compareBatches(bench: BenchRun, load: (connections: number) => LoadWish): Promise<Verdict> {
  const { first } = await bench.postgres();
  const [wish, single] = [load(CONNECTIONS), load(1)];
  const ratio = await bench.compare(
    { servers: [first], wish },
    { servers: [first], wish: { ...single, label: `${single.label}, a transaction each` } },
  );
  return {
    target: `${wish.label}: at least ${LEAST_GAIN} × the rate of a transaction each`,
    measured: times(ratio),
    isMet: ratio.whole >= LEAST_GAIN,
  };
}

const heartbeat: Scenario = {
  name: 'heartbeat',
  about: 'renewals on one license, with shared transactions and with one each',
  async run(bench) {
    return [
      await compareBatches(bench, (connections) => ({ label: 'heartbeat', connections, ...HEARTBEATS })),
    ];
  },
};

const churn: Scenario = {
  name: 'churn',
  about: 'register and unregister by turns on one license, with shared transactions and with one each',
  async run(bench) {
    const load = (connections: number) => churnOf(PRODUCTS.half1000, 1000, connections);
    const label = 'register + unregister';
    return [await compareBatches(bench, (connections) => ({ ...load(connections), label }))];
  },
};

const consumption: Scenario = {
  name: 'consumption',
  about: 'counts on one license, with shared transactions and with one each',
  async run(bench) {
    return [await compareBatches(bench, (connections) => counting('consumption', connections))];
  },
};

const heartbeatLarge: Scenario = {
  name: 'heartbeat-large',
  about: 'renewals of random users among 50,000 on a license with 100,000 slots, beside 1,000 on 2,000',
  async run(bench) {
    const { first } = await bench.postgres();
    const wish = (label: string, product: string, users: number): LoadWish => ({
      label,
      connections: CONNECTIONS,
      requests: [registerPlan(product)],
      users: holders(users, 'random'),
    });
    const ratio = await bench.compare(
      {
        servers: [first],
        wish: wish('heartbeat, 50,000 of 100,000 slots held', PRODUCTS.half100000, 50_000),
      },
      { servers: [first], wish: wish('heartbeat, 1,000 of 2,000 slots held', PRODUCTS.renew, 1000) },
    );
    bench.note('rate with 50,000 slots held, against 1,000', hundredths(ratio));
    return [];
  },
};

const ON_ONE: ServerLoad = {
  what: 'one license',
  load: { requests: HEARTBEATS.requests, users: HEARTBEATS.users },
};

const ON_MANY: ServerLoad = {
  what: `${MANY_LICENSES} licenses`,
  load: { requests: [registerPlan(OWN_PRODUCT)], users: newcomers(MANY_LICENSES, 'own') },
};

/** The second server has had little to do so far, and code that is seldom run is compiled late. */
const TOGETHER_SECONDS = 5;

/** The two are almost the same, so it takes many turns to tell. */
const HOT_TURNS = { turns: 11, seconds: 1 };

/** What many products on one server must reach of the rate of one. */
const LEAST_OF_MANY = 0.7;

const servers: Scenario = {
  name: 'servers',
  about: 'renewals with two servers on the database and with one, on one license and on many',
  async run(bench) {
    const { first, second } = await bench.postgres();
    const two = (load: ServerLoad) => serverLoad(load, [first, second]);
    const one = (load: ServerLoad) => serverLoad(load, [first]);
    for (const load of [ON_MANY, ON_ONE]) await bench.load([first, second], two(load).wish, TOGETHER_SECONDS);
    const many = await bench.compare(one(ON_MANY), one(ON_ONE));
    const [together, alone] = await bench.takeTurns([two(ON_ONE), one(ON_ONE)], HOT_TURNS);
    const apart = await bench.compare(two(ON_MANY), one(ON_MANY));
    bench.note(`rate of two servers on ${ON_MANY.what}, against one`, hundredths(apart));
    return [
      {
        target: `${ON_MANY.what} on one server: at least ${LEAST_OF_MANY} × the rate of one license`,
        measured: hundredths(many),
        isMet: many.whole >= LEAST_OF_MANY,
      },
      judgeRate(
        'two servers on one license: no slower than one server',
        together as Contested,
        alone as Contested,
        1,
      ),
    ];
  },
};

interface ServerLoad {
  readonly what: string;
  readonly load: Pick<LoadWish, 'requests' | 'users'>;
}

/** Everything may use all cores here: two servers on one core would only take turns. */
function serverLoad({ what, load }: ServerLoad, servers: readonly BenchServer[]) {
  const label = `heartbeat, ${what}, ${servers.length === 1 ? 'one server' : 'two servers'}`;
  return { servers, wish: { label, connections: CONNECTIONS, ...load, isSharing: true } };
}

/** In the order in which they run. */
export const POSTGRES_SCENARIOS: readonly Scenario[] = [
  heartbeat,
  churn,
  consumption,
  heartbeatLarge,
  servers,
  postgresRules,
];
