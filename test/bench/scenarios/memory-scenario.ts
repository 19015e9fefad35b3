import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { benchLicense, PRODUCTS } from '../bench-licenses.ts';
import type { BenchRun } from '../bench-run.ts';
import { type MemoryInUse, readMemoryInUse } from '../inspect-memory.ts';
import { renewal } from '../loads.ts';
import type { Scenario, Verdict } from '../scenarios.ts';
import { seedFolder } from '../seed-store.ts';
import { type InspectableServer, startInspectableBerth } from '../servers.ts';

/** No run takes longer than this, so that a server that hangs does not hang the benchmark. */
const LONGEST_SECONDS = 300;

async function startFresh(bench: BenchRun): Promise<InspectableServer> {
  const data = bench.makeFolder();
  await seedFolder(data, [{ license: benchLicense(1, PRODUCTS.renew, 2000), held: 1000 }]);
  return bench.keep(await startInspectableBerth(data));
}

function megabytes({ resident, heap }: MemoryInUse): string {
  return `${resident.toFixed(1)} MB resident, of which ${heap.toFixed(1)} MB are objects`;
}

const GROWTH_TARGET = 'memory after 1,000,000 requests: at most 5 MB above that after 100,000';

/** How much memory a server has after so many requests in all. */
async function memoryAfter(bench: BenchRun, server: InspectableServer, requests: number) {
  await bench.load([server], { ...renewal('memory', 64), rounds: requests }, LONGEST_SECONDS);
  return readMemoryInUse(server.pid, server.readLog());
}

export const memory: Scenario = {
  name: 'memory',
  about: 'memory after 100,000 and after 1,000,000 renewals, garbage collected; takes a minute or more',
  isLong: true,
  async run(bench): Promise<readonly Verdict[]> {
    const server = await startFresh(bench);
    const early = await memoryAfter(bench, server, 100_000);
    const late = await memoryAfter(bench, server, 900_000);
    await server.stop();
    if (early === null || late === null)
      return [{ target: GROWTH_TARGET, measured: 'cannot be read on this system', isMet: null }];
    bench.note('memory after 100,000 requests', megabytes(early));
    bench.note('memory after 1,000,000 requests', megabytes(late));
    const growth = late.resident - early.resident;
    return [{ target: GROWTH_TARGET, measured: `${growth.toFixed(1)} MB`, isMet: growth <= 5 }];
  },
};

const IDLE_CONNECTIONS = 1000;

const IDLE_TARGET = '1,000 idle connections: at most 20 kB each';

/** A connection that has been used once: what it needs has been set up. */
async function openIdle(port: number): Promise<Socket> {
  const socket = connect(port, '127.0.0.1');
  const body = JSON.stringify({ product: PRODUCTS.renew, user: 'user-0000000' });
  const head = ['POST /api/v4/register HTTP/1.1', 'Host: berth', 'Content-Type: application/json'];
  socket.write([...head, `Content-Length: ${body.length}`, '', body].join('\r\n'));
  await once(socket, 'data');
  return socket;
}

export const idle: Scenario = {
  name: 'idle',
  about: 'memory of 1,000 connections that were used once and are idle',
  async run(bench): Promise<readonly Verdict[]> {
    const server = await startFresh(bench);
    // Few connections: memory that many have left free would hide what the idle ones take.
    await bench.load([server], renewal('idle', 16), 1);
    const before = await readMemoryInUse(server.pid, server.readLog());
    const sockets = await Promise.all(Array.from({ length: IDLE_CONNECTIONS }, () => openIdle(server.port)));
    const after = await readMemoryInUse(server.pid, server.readLog());
    for (const socket of sockets) socket.destroy();
    await server.stop();
    if (before === null || after === null)
      return [{ target: IDLE_TARGET, measured: 'cannot be read on this system', isMet: null }];
    const each = (kind: keyof MemoryInUse) => ((after[kind] - before[kind]) * 1024) / IDLE_CONNECTIONS;
    bench.note('an idle connection', `${each('heap').toFixed(1)} kB of objects`);
    return [
      { target: IDLE_TARGET, measured: `${each('resident').toFixed(1)} kB`, isMet: each('resident') <= 20 },
    ];
  },
};
