import { WORST_ACCEPTED } from '../../support/hostile-rules.ts';
import { PRODUCTS } from '../bench-licenses.ts';
import { type BenchRun, HEARTBEATS, type LoadWish } from '../bench-run.ts';
import { churnOf } from '../loads.ts';
import { joinSlices, type Measured } from '../measurement.ts';
import type { Scenario, Verdict } from '../scenarios.ts';
import type { BenchServer } from '../servers.ts';
import { quantile } from '../two-samples.ts';

const RATE = 300;
const CONNECTIONS = 64;

/** Pairs of turns, with and without trials: each goes first as often as the other. */
const PAIRS = 10;

/** As many viewers as may work at once, and an administrator. */
const ROLES = ['viewer', 'viewer', 'admin'] as const;

/** Sends rules until it is told to stop; whoever has no place asks again. */
async function keepTrying({ url }: BenchServer, token: string, path: string, signal: AbortSignal) {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  const body = JSON.stringify({ text: WORST_ACCEPTED });
  let done = 0;
  while (!signal.aborted) {
    const answer = await fetch(`${url}${path}`, { method: 'POST', headers, body, signal }).catch(() => null);
    await answer?.arrayBuffer().catch(() => null);
    // The turn before may still hold the place.
    if (answer === null || answer.status === 429) continue;
    if (answer.status !== 200) throw new Error(`${path} was answered ${answer.status}.`);
    done += 1;
  }
  return done;
}

async function createToken({ url }: BenchServer, name: string, role: string): Promise<string> {
  const answer = await fetch(`${url}/api/admin/tokens/create`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ name, role }),
  });
  const { token } = (await answer.json()) as { readonly token: string };
  return token;
}

/** Heartbeats while the worst text that is accepted takes all places, by turns with heartbeats alone. */
export const ruleTrials: Scenario = {
  name: 'rule-trials',
  about: '300 heartbeats a second while three callers check and try the worst rules that are accepted',
  async run(bench: BenchRun): Promise<readonly Verdict[]> {
    const server = await bench.berth();
    const wish: LoadWish = { label: 'heartbeat', connections: CONNECTIONS, rate: RATE, ...HEARTBEATS };
    // So that there is a log.
    await bench.load([server], churnOf(PRODUCTS.half1000, 1000, CONNECTIONS), 1);
    const tokens = await Promise.all(ROLES.map((role, n) => createToken(server, `caller-${n}`, role)));
    const seconds = Math.max(3, bench.seconds / 2);
    const turns = { alone: [] as Measured[], tried: [] as Measured[] };
    let done = 0;
    const work = {
      alone: async () => joinSlices([await bench.load([server], wish, seconds)]),
      async tried() {
        const control = new AbortController();
        const paths = ['check', 'try', 'try'].map((path) => `/api/admin/rules/${path}`);
        const trying = tokens.map((token, n) =>
          keepTrying(server, token, paths[n] as string, control.signal),
        );
        try {
          return joinSlices([await bench.load([server], wish, seconds)]);
        } finally {
          control.abort();
          for (const one of await Promise.all(trying)) done += one;
        }
      },
    };
    for (let pair = 0; pair < PAIRS; pair++) {
      const kinds = ['alone', 'tried'] as const;
      for (const kind of pair % 2 === 0 ? kinds : kinds.toReversed()) turns[kind].push(await work[kind]());
    }
    return judge(bench, turns, done);
  },
};

function judge(
  bench: BenchRun,
  { alone, tried }: Readonly<Record<'alone' | 'tried', readonly Measured[]>>,
  done: number,
): readonly Verdict[] {
  const errors = tried.reduce((sum, one) => sum + one.errors, 0);
  const ratios = tried.map(({ p99 }, pair) => p99 / (alone[pair]?.p99 ?? Number.NaN));
  const show = (all: readonly number[], digits: number) =>
    [0.5, 0, 1].map((part) => quantile(all, part).toFixed(digits));
  const spread = (all: readonly number[], digits: number) => {
    const [middle, least, most] = show(all, digits);
    return `${middle} (${least}–${most})`;
  };
  bench.note(
    'rule-trials: p99 of heartbeats alone, in ms',
    spread(
      alone.map(({ p99 }) => p99),
      1,
    ),
  );
  bench.note(
    'rule-trials: p99 beside trials, in ms',
    spread(
      tried.map(({ p99 }) => p99),
      1,
    ),
  );
  bench.note('rule-trials: texts that were checked or tried meanwhile', String(done));
  const beside = `${RATE} heartbeats a second beside trials of the worst rules that are accepted`;
  return [
    {
      target: `${beside}: none fails`,
      measured: errors === 0 ? 'none' : `${errors}: ${tried.find((one) => one.errors > 0)?.firstError}`,
      isMet: errors === 0,
    },
    {
      target: `${beside}: p99 at most 3 × that alone, in the median pair`,
      measured: `${spread(ratios, 2)} ×`,
      // Without a text that came to its end, less than a whole trial was measured.
      isMet: done > 0 && quantile(ratios, 0.5) <= 3,
    },
  ];
}
