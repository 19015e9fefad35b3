import { createHash } from 'node:crypto';
import type { Server } from 'node:http';
import { mock } from 'node:test';
import { problem } from '@berth/server/http/reply/problem';
import { systemClock } from '@berth/server/store/clock';
import type { App } from '@berth/web/app';
import type { HttpRequest, Peer } from '@berth/web/http-request';
import { openLane } from '@berth/web/lane';
import { HTTP_LIMITS } from '@berth/web/limits';
import { createAppServer } from '@berth/web/listen';
import { PlainRequest } from '@berth/web/plain-request';
import { empty, json, type Reply } from '@berth/web/reply';
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

/** The hash of what is longer. */
const MAX_ECHOED = 2000;

function echo({ method, url, headers }: HttpRequest, body: Uint8Array, peer: Peer): Reply {
  const read = Buffer.from(body.buffer, body.byteOffset, body.length);
  if (read.length === 0) return problem('store_unavailable', 'Nothing was said.');
  if (read.equals(NO_FIELDS)) return empty();
  const isLong = read.length > MAX_ECHOED;
  const said = isLong ? createHash('sha1').update(read).digest('hex') : read.toString('latin1');
  const sorted = [...headers].map(([name, value]) => `${name}: ${value}`).sort();
  return json({ method, url, headers: sorted, length: read.length, said, peer });
}

const NO_FIELDS = Buffer.from('{}');

export const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

const HOT_PATHS = new Set(HOT.map(([path]) => path));

/** Some answers take longer, so that requests which follow have to wait. */
const isSlow = (body: Uint8Array) => body.length % 3 === 0;

function answerWith(echoing: EchoServer): App {
  const reply = async (request: HttpRequest, body: Uint8Array, peer: Peer): Promise<Reply> => {
    echoing.pending += 1;
    if (isSlow(body)) await turn();
    echoing.pending -= 1;
    return echo(request, body, peer);
  };
  const answer = async (request: HttpRequest, peer: Peer): Promise<Reply> => {
    if (request instanceof PlainRequest) echoing.inLane += 1;
    else echoing.inNode += 1;
    const read = await Promise.resolve(request.readBody(HTTP_LIMITS.bodyBytes)).then(
      (body) => body ?? problem('payload_too_large', 'Too much was said.'),
      () => problem('bad_request', 'Only half of it was said.'),
    );
    return read instanceof Uint8Array ? reply(request, read, peer) : read;
  };
  return { answer, findPlain: (path) => (HOT_PATHS.has(path) ? answer : undefined), refuse: problem };
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
    check: () => mock.timers.tick(HTTP_LIMITS.connectionCheckMs),
    close: () => mock.timers.reset(),
  };
}

export type EchoPair = ReturnType<typeof openEchoPair>;
