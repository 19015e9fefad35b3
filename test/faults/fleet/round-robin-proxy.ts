import { Agent, createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Hands each request to the next of several servers, so that one client speaks with all of them. */
export interface RoundRobinProxy {
  readonly url: string;
  /** Who is asked from now on. Requests under way stay where they are. */
  setTargets(urls: readonly string[]): void;
}

interface TestLife {
  after(work: () => void): void;
}

/**
 * It repeats nothing: when the server that it has asked goes away, the client's connection is cut, and the
 * client knows as little as it would without a proxy.
 */
export async function openRoundRobinProxy(t: TestLife, urls: readonly string[]): Promise<RoundRobinProxy> {
  const agent = new Agent({ keepAlive: true });
  let targets = urls;
  let turn = 0;
  const proxy = createServer((incoming, outgoing) => {
    const target = targets[turn++ % targets.length];
    if (target === undefined) outgoing.destroy();
    else forward(agent, target, incoming, outgoing);
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    proxy.closeAllConnections();
    proxy.close();
    agent.destroy();
  });
  return {
    url: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`,
    setTargets(next) {
      targets = next;
    },
  };
}

function forward(agent: Agent, target: string, incoming: IncomingMessage, outgoing: ServerResponse): void {
  const { connection: _, ...headers } = incoming.headers;
  const asked = request(`${target}${incoming.url}`, { method: incoming.method, agent, headers });
  const cut = () => outgoing.destroy();
  asked.on('error', cut);
  asked.on('response', (answer) => {
    const { connection: _, 'keep-alive': __, ...rest } = answer.headers;
    outgoing.writeHead(answer.statusCode ?? 502, rest);
    answer.on('error', cut);
    answer.pipe(outgoing);
  });
  incoming.on('error', () => asked.destroy());
  incoming.pipe(asked);
}
