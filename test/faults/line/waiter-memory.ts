import { Agent, request } from 'node:http';
import { INSPECTABLE, readMemoryInUse } from '../../bench/inspect-memory.ts';
import { testLicense } from '../../support/test-license.ts';
import { ask, type LineOptions, LineSite, REGISTER, type Report } from './line-site.ts';

/** No address has ports enough for all of them. */
const ADDRESSES = 4;

/** What a waiting client takes beyond an idle connection, in all threads of the server, without garbage. */
export async function measureWaiters(options: LineOptions): Promise<Report> {
  const { waiters } = options;
  const site = await LineSite.start(testLicense(7, { slots: 1 }), options, { env: INSPECTABLE });
  const clients = new Clients(site.first.url, waiters);
  try {
    const [api] = site.connect(8);
    await api?.register(ask('holder'));
    const read = async () => {
      const memory = await readMemoryInUse(site.first.pid, site.first.log);
      if (memory === null) throw new Error('The memory of a process can be read on Linux only.');
      return memory;
    };
    await clients.send('another');
    const idle = await read();
    const open = clients.countIdle();
    if (open < waiters) site.violations.push(`Only ${open} connections are idle.`);
    const answered = clients.send('cad');
    await site.waitUntilInLine(waiters);
    const waiting = await read();
    await answered;
    const each = (kind: keyof typeof idle) => ((waiting[kind] - idle[kind]) * 1024) / waiters;
    const say = ({ resident, heap }: typeof idle) =>
      `${Math.round(resident)} MB, heap ${Math.round(heap)} MB`;
    const lines = [
      `${waiters} connections: idle ${say(idle)}; waiting ${say(waiting)}`,
      `each that waits: ${each('resident').toFixed(2)} kB resident, ${each('heap').toFixed(2)} kB of heap`,
    ];
    return { lines, violations: site.violations };
  } finally {
    clients.close();
    await site.stop();
  }
}

/** Each has a connection, which stays open. */
class Clients {
  readonly #url: string;
  readonly #count: number;
  readonly #agents: readonly Agent[];

  constructor(url: string, count: number) {
    this.#url = url;
    this.#count = count;
    // Unless told, an agent closes all idle connections but 256.
    const options = { keepAlive: true, maxSockets: count, maxFreeSockets: count };
    this.#agents = Array.from({ length: ADDRESSES }, () => new Agent(options));
  }

  /** All at once, so that each has a connection of its own. Resolves when all are answered. */
  async send(product: string): Promise<void> {
    await Promise.all(Array.from({ length: this.#count }, (_, index) => this.#sendOne(index, product)));
  }

  #sendOne(index: number, product: string): Promise<void> {
    const place = index % ADDRESSES;
    const headers = { 'content-type': 'application/json', prefer: 'wait=50' };
    const localAddress = `127.0.0.${place + 1}`;
    const options = { method: 'POST', agent: this.#agents[place] as Agent, localAddress, headers };
    return new Promise((resolve) => {
      const sent = request(`${this.#url}${REGISTER}`, options);
      sent.on('response', (response) => response.resume().on('end', resolve));
      sent.on('error', () => resolve());
      sent.end(JSON.stringify({ ...ask(`user-${index}`), product }));
    });
  }

  countIdle(): number {
    const lists = this.#agents.flatMap(({ freeSockets }) => Object.values(freeSockets));
    return lists.reduce((sum, sockets) => sum + (sockets?.length ?? 0), 0);
  }

  close(): void {
    for (const agent of this.#agents) agent.destroy();
  }
}
