import { type BenchRun, type Contested, cpuRatio, manyTurns, rateRatio, showMiddle } from '../bench-run.ts';
import type { Scenario, Verdict } from '../scenarios.ts';
import type { BenchServer } from '../servers.ts';
import { type Comparison, type Goal, listComparisons, type PeerLicense } from './comparisons.ts';
import { findPeer, type PeerWish, THIS_CHECKOUT } from './peer.ts';

/** What the other server is called in the rows. */
const NAMES: Readonly<Record<PeerWish['kind'], string>> = {
  checkout: 'the other checkout',
  berth: 'the other Berth',
  relay: 'the relay',
};

const ABOUT: Readonly<Record<string, string>> = {
  heartbeat: 'renewals, one user a connection',
  consumption: 'counts on one license',
  churn: 'register and unregister by turns',
  slots: 'renewals on licenses with 10, 50,000 and 100,000 slots',
};

/** The rate and the processor time against the other's, by turns. */
async function compare(
  bench: BenchRun,
  [own, peer]: readonly [BenchServer, BenchServer],
  name: string,
  { ours, theirs, goal }: Comparison,
): Promise<readonly Verdict[]> {
  const contenders = [
    { servers: [own], wish: ours },
    { servers: [peer], wish: { ...theirs, label: `${theirs.label}: ${name}` } },
  ];
  const [a, b] = (await bench.takeTurns(contenders, manyTurns(bench.seconds))) as [Contested, Contested];
  const cpu = cpuRatio(a, b);
  const share = cpu === null ? '' : `, CPU time ${(cpu * 100).toFixed(0)} %`;
  bench.note(`${ours.label}, against ${name}`, `rate ${showMiddle(rateRatio(a, b))}${share}`);
  return judge(goal, a, b, name);
}

function judge(goal: Goal, a: Contested, b: Contested, name: string): readonly Verdict[] {
  const { leastRatio, mostCpuShare, needsLowerP99 } = goal;
  const { label } = a.measurement;
  const [ratio, cpu] = [rateRatio(a, b), cpuRatio(a, b)];
  const [p99, theirP99] = [a.measurement.p99, b.measurement.p99];
  return [
    leastRatio !== undefined && {
      target: `${label}: at least ${leastRatio} × the rate of ${name}`,
      measured: showMiddle(ratio),
      isMet: ratio.middle >= leastRatio,
    },
    mostCpuShare !== undefined && {
      target: `${label}: at most ${mostCpuShare * 100} % of the processor time of ${name}`,
      measured: cpu === null ? 'cannot be read here' : `${(cpu * 100).toFixed(0)} %`,
      isMet: cpu === null ? null : cpu <= mostCpuShare,
    },
    needsLowerP99 === true && {
      target: `${label}: p99 below that of ${name}`,
      measured: `${p99.toFixed(1)} ms, not ${theirP99.toFixed(1)} ms`,
      isMet: p99 < theirP99,
    },
  ].filter((verdict) => verdict !== false);
}

/** What `--against` runs. Both start on equal data: what one has done before would count against it. */
export function againstScenarios(wish: PeerWish, license: PeerLicense): readonly Scenario[] {
  const comparisons = listComparisons(wish.kind, license);
  const pairs = new Map<BenchRun, readonly [BenchServer, BenchServer]>();
  const getPair = async (bench: BenchRun, { ours, theirs }: Comparison) => {
    const known = pairs.get(bench);
    if (known !== undefined) return known;
    const pair = [await findPeer(bench, THIS_CHECKOUT), await findPeer(bench, wish)] as const;
    await bench.warmUp(pair[0], ours);
    await bench.warmUp(pair[1], theirs);
    pairs.set(bench, pair);
    return pair;
  };
  return [...new Set(comparisons.map(({ name }) => name))].map((name) => ({
    name,
    about: ABOUT[name] as string,
    async run(bench) {
      const verdicts: Verdict[] = [];
      for (const one of comparisons.filter((comparison) => comparison.name === name)) {
        const pair = await getPair(bench, one);
        verdicts.push(...(await compare(bench, pair, NAMES[wish.kind], one)));
      }
      return verdicts;
    },
  }));
}
