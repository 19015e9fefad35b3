import { createHash } from 'node:crypto';
import type { Server } from 'node:http';
import { mock } from 'node:test';
import { LIMITS } from '@berth/server/config';
import type { Peer } from '@berth/server/http/access/caller';
import type { AnswerPlain } from '@berth/server/http/app';
import { json, type Reply, toResponse } from '@berth/server/http/reply/reply';
import { openLane } from '@berth/server/http/sockets/lane';
import { type Answering, createAppServer } from '@berth/server/http/sockets/listen';
import { systemClock } from '@berth/server/store/clock';
import { HOT } from './stream-parts.ts';

/** A server that answers with what it has read. */
export interface EchoServer {
  readonly server: Server;
  /** Requests that are being answered. */
  pending: number;
  /** Requests that the lane has read, and that Node has. */
  inLane: number;
  inNode: number;
}

interface Heard {
  readonly method: string;
  readonly path: string;
  readonly headers: Iterable<readonly [name: string, value: string]>;
  readonly body: Uint8Array;
  readonly peer: Peer;
}

const MOST_ECHOED = 2000;

function echo({ method, path, headers, body, peer }: Heard): Reply {
  const read = Buffer.from(body.buffer, body.byteOffset, body.length);
  const said =
    read.length > MOST_ECHOED ? createHash('sha1').update(read).digest('hex') : read.toString('latin1');
  const sorted = [...headers].map(([name, value]) => `${name}: ${value}`).sort();
  return json({ method, path, headers: sorted, length: read.length, said, peer });
}

export const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

const HOT_PATHS = new Set(HOT.map(([path]) => path));

/** Some answers take longer, so that requests which follow have to wait. */
const isSlow = (body: Uint8Array) => body.length % 3 === 0;

function answerWith(echoing: EchoServer): Answering {
  const count = async (work: () => Promise<Reply>): Promise<Reply> => {
    echoing.pending += 1;
    try {
      return await work();
    } finally {
      echoing.pending -= 1;
    }
  };
  const answerPlain: AnswerPlain = ({ method, path, headers }, body, peer) =>
    count(async () => {
      echoing.inLane += 1;
      if (isSlow(body)) await turn();
      return echo({ method, path, headers, body, peer });
    });
  const fetch = async (request: Request, { peer }: { peer: Peer }) => {
    echoing.inNode += 1;
    const { method, url, headers } = request;
    const bytes = await request.arrayBuffer().catch(() => null);
    if (bytes === null) return toResponse(json('Half a body.'));
    const body = new Uint8Array(bytes);
    const reply = await count(async () => {
      if (isSlow(body)) await turn();
      return echo({ method, path: url.slice(url.indexOf('/', 'https://'.length)), headers, body, peer });
    });
    return toResponse(reply);
  };
  return {
    fetch: fetch as Answering['fetch'],
    findPlain: (path) => (HOT_PATHS.has(path) ? answerPlain : undefined),
  };
}

/** The same server with and without the lane. They have no ports: sockets are given to them. */
export function openEchoPair() {
  mock.timers.enable({ apis: ['setInterval'] });
  const open = (hasLane: boolean): EchoServer => {
    const counts = { pending: 0, inLane: 0, inNode: 0 };
    const echoing = counts as EchoServer;
    const bounds = { maxConnections: 1e6, maxConnectionsPerAddress: 1e6, trustedProxies: ['127.0.0.1'] };
    const { server, lane } = createAppServer(answerWith(echoing), {
      ...bounds,
      certificates: null,
      clock: systemClock,
    });
    if (hasLane) openLane(server, lane);
    return Object.assign(echoing, { server });
  };
  return {
    lane: open(true),
    node: open(false),
    /** What happens once a second: whoever is slow leaves the lane. */
    check: () => mock.timers.tick(LIMITS.connectionCheckMs),
    close: () => mock.timers.reset(),
  };
}

export type EchoPair = ReturnType<typeof openEchoPair>;
