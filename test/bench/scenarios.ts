import { ensureTool } from '../support/install-tools.ts';
import { benchLicense, PRODUCTS } from './bench-licenses.ts';
import { type BenchRun, type Contested, cpuRatio, manyTurns, rateRatio } from './bench-run.ts';
import type { RequestPlan, UserPlan } from './load/load-plan.ts';
import { churnOf, counting, holders, newcomers, renewal } from './loads.ts';
import { costRatio } from './measurement.ts';
import { readResidentMegabytes } from './process-facts.ts';
import { borrowPlan, registerPlan } from './requests.ts';
import { grants } from './scenarios/grants-scenario.ts';
import { heartbeat } from './scenarios/heartbeat-scenario.ts';
import { idle, memory } from './scenarios/memory-scenario.ts';
import { ruleTrials } from './scenarios/rule-trials-scenario.ts';
import { rules } from './scenarios/rules-scenario.ts';
import { scrape } from './scenarios/scrape-scenario.ts';
import { slots } from './scenarios/slots-scenario.ts';
import { waiting } from './scenarios/waiting-scenario.ts';
import { seedFolder } from './seed-store.ts';
import { startBerth } from './servers.ts';
import { quantile } from './two-samples.ts';

/** Whether a target was met. `null`: it could not be measured here, and `measured` says why. */
export interface Verdict {
  readonly target: string;
  readonly measured: string;
  readonly isMet: boolean | null;
}

export interface Scenario {
  readonly name: string;
  readonly about: string;
  /** Left out unless it is asked for by name, or all are written down. */
  readonly isLong?: boolean;
  run(bench: BenchRun): Promise<readonly Verdict[]>;
}

export const CONNECTIONS = 64;

/** A license with 10 slots of which 5 are held has room for no more at the same time. */
const FEW_CONNECTIONS = 4;

const churn: Scenario = {
  name: 'churn',
  about: 'register and unregister by turns on one license: over 64 connections, and a small one over 4',
  async run(bench) {
    await bench.measure(churnOf(PRODUCTS.half1000, 1000, CONNECTIONS));
    const small = await bench.measure(churnOf(PRODUCTS.half10, 10, FEW_CONNECTIONS));
    const large = await bench.measure(churnOf(PRODUCTS.half100000, 100_000, FEW_CONNECTIONS));
    const ratio = costRatio(large, small);
    return [
      {
        target: 'register + unregister, 100,000 slots, 4 connections: at most 1.2 × the cost with 10',
        measured: `${ratio.toFixed(2)} ×`,
        isMet: ratio <= 1.2,
      },
    ];
  },
};

const denial: Scenario = {
  name: 'denial',
  about: 'grants to new users, by turns with a full license that refuses new users, and one again and again',
  async run(bench) {
    const servers = [await bench.berth()];
    const contender = (label: string, request: RequestPlan, users: UserPlan) => {
      return { servers, wish: { label, connections: CONNECTIONS, requests: [request], users } };
    };
    const refused = registerPlan(PRODUCTS.full, 400);
    const nobody: UserPlan = { from: 9_999_999, step: 1, count: 1, pick: 'own' };
    const [granted, ...denied] = await bench.takeTurns(
      [
        contender('grant, every time a new user', registerPlan(PRODUCTS.open), newcomers(1_000_000, 'next')),
        contender('denial, every time a new user', refused, newcomers(1_000_000, 'next')),
        contender('denial, always the same user', refused, nobody),
      ],
      manyTurns(bench.seconds),
    );
    return denied.map((one) => {
      const ratio = cpuRatio(one, granted as Contested) ?? 1 / rateRatio(one, granted as Contested).middle;
      return {
        target: `a ${one.measurement.label}: no more than the cost of a grant`,
        measured: `${ratio.toFixed(2)} ×`,
        isMet: ratio <= 1,
      };
    });
  },
};

const borrow: Scenario = {
  name: 'borrow',
  about: 'borrow for the longest time, one user a connection',
  async run(bench) {
    const requests = [borrowPlan(PRODUCTS.borrow)];
    await bench.measure({ label: 'borrow', connections: CONNECTIONS, requests, users: holders(1000) });
    return [];
  },
};

const consumption: Scenario = {
  name: 'consumption',
  about: 'counts on one license, beside renewals',
  async run(bench) {
    const renewed = await bench.measure(renewal('heartbeat, beside consumption', CONNECTIONS));
    const counted = await bench.measure(counting('consumption', CONNECTIONS));
    bench.note('consumption: rate, of that of heartbeats', `${(counted.rate / renewed.rate).toFixed(2)} ×`);
    return [];
  },
};

const HERD_USERS = 5000;

const herd: Scenario = {
  name: 'herd',
  about: '5,000 users ask for their first slot at the same moment over 256 connections',
  async run(bench) {
    const { requests, rate } = await bench.measure({
      label: 'herd, 5,000 users over 256 connections',
      connections: 256,
      requests: [registerPlan(PRODUCTS.herd)],
      users: newcomers(HERD_USERS, 'next'),
      rounds: HERD_USERS,
    });
    bench.note('herd: seconds until all 5,000 users held a slot', (requests / rate).toFixed(2));
    return [];
  },
};

const connections: Scenario = {
  name: 'connections',
  about: 'renewals over 256 and over 1,000 connections',
  async run(bench) {
    const verdicts: Verdict[] = [];
    for (const count of [256, 1000]) {
      const name = count.toLocaleString('en');
      const { errors, firstError } = await bench.measure(renewal(`heartbeat, ${name} connections`, count));
      verdicts.push({
        target: `no error over ${name} connections`,
        measured: errors === 0 ? 'none' : `${errors}: ${firstError}`,
        isMet: errors === 0,
      });
    }
    return verdicts;
  },
};

const paced: Scenario = {
  name: 'paced',
  about: 'renewals at 70 % of the highest rate, due at even distances, by turns with bare node:http',
  async run(bench) {
    const label = 'heartbeat at 70 % of the highest rate';
    const [berth, bare] = await bench.takePacedTurns(
      [
        { servers: [await bench.berth()], wish: renewal(label, CONNECTIONS) },
        { servers: [await bench.yardstick('http')], wish: renewal(`${label}, node:http`, CONNECTIONS) },
      ],
      0.7,
    );
    const { measurement, turns } = berth as Contested;
    const bareP99 = (bare as Contested).measurement.p99;
    const middle = quantile(
      turns.map((turn) => turn.p99),
      0.5,
    );
    const measured = `${measurement.p99.toFixed(1)} ms`;
    const target = 'p99 at 70 % of the highest rate';
    return [
      { target: `${target}: at most 25 ms`, measured, isMet: measurement.p99 <= 25 },
      {
        target: `${target}, in the median turn: at most 25 ms`,
        measured: `${middle.toFixed(1)} ms`,
        isMet: middle <= 25,
      },
      {
        target: `${target}: at most that of bare node:http at 70 % of its own`,
        measured: `${measured}, not ${bareP99.toFixed(1)} ms`,
        isMet: measurement.p99 <= bareP99,
      },
    ];
  },
};

const RESTART_USERS = 100_000;

const restart: Scenario = {
  name: 'restart',
  about: 'start again with 100,000 slots held, then renewals of random users among them',
  async run(bench) {
    const data = bench.makeFolder();
    const license = benchLicense(1, PRODUCTS.renew, RESTART_USERS);
    await seedFolder(data, [{ license, held: RESTART_USERS }]);
    await (await startBerth(data)).stop();
    const spawnedMs = performance.now();
    const server = bench.keep(await startBerth(data));
    const readySeconds = (performance.now() - spawnedMs) / 1000;
    const atStart = readResidentMegabytes(server.pid);
    const users = holders(RESTART_USERS, 'random');
    const wish = { ...renewal('heartbeat, 100,000 of 100,000 slots held', CONNECTIONS), users };
    await bench.measureAlone([server], wish, (bench.seconds * 10) / 3);
    const afterLoad = readResidentMegabytes(server.pid);
    await server.stop();
    return [
      {
        target: 'restart with 100,000 slots held: ready within 2 s',
        measured: `${readySeconds.toFixed(2)} s`,
        isMet: readySeconds <= 2,
      },
      memoryVerdict('after the restart', atStart),
      memoryVerdict('after the load on it', afterLoad),
    ];
  },
};

function memoryVerdict(when: string, megabytes: number | null): Verdict {
  return {
    target: `memory with 100,000 slots held, ${when}: at most 300 MB`,
    measured: megabytes === null ? 'cannot be read on this system' : `${megabytes.toFixed(0)} MB`,
    isMet: megabytes === null ? null : megabytes <= 300,
  };
}

const SLOW_SYNC = [
  ...['strace', '-D', '-f', '-qq', '--seccomp-bpf', '-o', '/dev/null'],
  ...['-e', 'trace=fsync,fdatasync', '-e', 'inject=fsync,fdatasync:delay_exit=5000'],
];

const groupCommit: Scenario = {
  name: 'group-commit',
  about: 'renewals over 1 and over 64 connections while every sync to disk takes 5 ms longer',
  async run(bench) {
    const target = 'with 5 ms a sync, 64 connections: at least 20 × the rate of one';
    if (!(await ensureTool('strace'))) {
      return [{ target, measured: 'not measured: there is no strace here', isMet: null }];
    }
    const data = bench.makeFolder();
    await seedFolder(data, [{ license: benchLicense(1, PRODUCTS.renew, 2000), held: 1000 }]);
    const server = bench.keep(await startBerth(data, SLOW_SYNC));
    const one = await bench.measureAlone([server], renewal('heartbeat, 5 ms a sync, 1 connection', 1));
    const many = await bench.measureAlone(
      [server],
      renewal('heartbeat, 5 ms a sync, 64 connections', CONNECTIONS),
    );
    await server.stop();
    const ratio = many.rate / one.rate;
    return [{ target, measured: `${ratio.toFixed(1)} ×`, isMet: ratio >= 20 }];
  },
};

/** In the order in which they run: neighbours share the constant between them where they can. */
export const SCENARIOS: readonly Scenario[] = [
  heartbeat,
  denial,
  borrow,
  consumption,
  paced,
  slots,
  churn,
  idle,
  memory,
  herd,
  connections,
  restart,
  groupCommit,
  scrape,
  waiting,
  grants,
  rules,
  ruleTrials,
];
