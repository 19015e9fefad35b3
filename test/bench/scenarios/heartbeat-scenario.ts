import { type BenchRun, type Contested, HEARTBEATS, judgeRate, manyTurns } from '../bench-run.ts';
import type { Scenario, Verdict } from '../scenarios.ts';
import type { YardstickKind } from '../servers.ts';

const YARDSTICKS: Readonly<Record<YardstickKind, string>> = {
  http: 'bare node:http',
  net: 'bare node:net',
  layer: "Berth's HTTP side without a store",
};

/** Renewals and what the same answer costs without a store, by turns. The first is ours, then `node:http`. */
async function besideYardsticks(bench: BenchRun, connections: number): Promise<readonly Contested[]> {
  const at = `${connections} connections`;
  const wish = { connections, ...HEARTBEATS };
  const contenders = [{ servers: [await bench.berth()], wish: { ...wish, label: `heartbeat, ${at}` } }];
  for (const [kind, name] of Object.entries(YARDSTICKS)) {
    const server = await bench.yardstick(kind as YardstickKind);
    contenders.push({ servers: [server], wish: { ...wish, label: `${name}, ${at}` } });
  }
  return bench.takeTurns(contenders, { ...manyTurns(bench.seconds), constant: 1 });
}

export const heartbeat: Scenario = {
  name: 'heartbeat',
  about: 'renewals, one user a connection, beside the same answer without a store',
  async run(bench): Promise<readonly Verdict[]> {
    const [ours, http] = (await besideYardsticks(bench, 64)) as [Contested, Contested];
    await besideYardsticks(bench, 16);
    const label = 'heartbeat, server and load on all cores';
    await bench.measure({ label, connections: 64, ...HEARTBEATS, isSharing: true });
    const target = 'heartbeat, 64 connections: at least 0.6 × the rate of bare node:http, aim 0.8 ×';
    return [judgeRate(target, ours, http, 0.6)];
  },
};
