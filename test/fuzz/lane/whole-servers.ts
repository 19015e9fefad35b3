import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { AddressInfo, Socket } from 'node:net';
import { mock } from 'node:test';
import type { AnswerRoute, App } from '@berth/web/app';
import type { HttpRequest } from '@berth/web/http-request';
import { openLane } from '@berth/web/lane';
import { HTTP_LIMITS } from '@berth/web/limits';
import { createAppServer, listening, stopServer } from '@berth/web/listen';
import { PlainRequest } from '@berth/web/plain-request';
import { exampleFeature, exampleLimits } from '../../../packages/server/test/core/examples.ts';
import { createRandom } from '../../support/random.ts';
import { openSocket } from '../../support/raw-socket.ts';
import { openTestApp, readEvents } from '../../support/test-app.ts';
import { testLicense } from '../../support/test-license.ts';
import { normalizeAnswers } from './answer-stream.ts';
import { turn } from './echo-pair.ts';
import { type ByteStream, makeStream, piecesOf } from './make-stream.ts';

interface Context {
  after(work: () => unknown): void;
}

/** Few slots, so that some requests are refused. */
const LICENSE = testLicense(1, {
  slots: 5,
  consumption: exampleLimits({ unlimited: true }),
  features: [exampleFeature('export'), exampleFeature('render')],
});

/** What the server works on; a request whose body is still to come is the client's to continue. */
interface Work {
  pending: number;
  inLane: number;
  inNode: number;
}

function countWork(app: App, work: Work): App {
  const counted =
    (answer: AnswerRoute): AnswerRoute =>
    async (request, peer) => {
      work.pending += 1;
      if (request instanceof PlainRequest) work.inLane += 1;
      else work.inNode += 1;
      const reply = await answer(
        request instanceof PlainRequest ? request : countReading(request, work),
        peer,
      );
      work.pending -= 1;
      return reply;
    };
  return {
    ...app,
    answer: counted(app.answer),
    findPlain: (path) => {
      const found = app.findPlain(path);
      return found === undefined ? undefined : counted(found);
    },
  };
}

function countReading(request: HttpRequest, work: Work): HttpRequest {
  const { method, url, headers, signal } = request;
  const readBody = async (limit: number) => {
    work.pending -= 1;
    try {
      return await request.readBody(limit);
    } finally {
      work.pending += 1;
    }
  };
  return { method, url, headers, signal, readBody };
}

async function openWhole(t: Context, hasLane: boolean) {
  const allowedOrigins = ['https://app.example.com'];
  const { app, store, clock } = await openTestApp(t, { licenses: [LICENSE], allowedOrigins });
  const work: Work = { pending: 0, inLane: 0, inNode: 0 };
  const bounds = { maxConnections: 1000, maxConnectionsPerAddress: 1000, trustedProxies: ['127.0.0.1'] };
  const options = { ...bounds, certificates: null, clock };
  const { server, connections, lane } = createAppServer(countWork(app, work), options);
  if (hasLane) openLane(server, lane);
  await listening(server, () => server.listen(0, '127.0.0.1'));
  t.after(() => {
    connections.cutAll();
    return stopServer(server, connections);
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, store, work };
}

type Whole = Awaited<ReturnType<typeof openWhole>>;

const QUIET_TURNS = 8;

async function settle({ work }: Whole): Promise<void> {
  for (let quiet = 0; quiet < QUIET_TURNS; quiet++) {
    await turn();
    if (work.pending > 0) quiet = -1;
  }
}

interface Outcome {
  readonly heard: string;
  readonly isClosed: boolean;
  readonly heardInAll: string;
}

async function talk(whole: Whole, pieces: readonly Buffer[], check: () => void): Promise<Outcome> {
  const socket: Socket = openSocket(whole.url).setNoDelay(true);
  let received = '';
  let isClosed = false;
  socket.on('error', () => {});
  socket.on('data', (chunk: Buffer) => {
    received += chunk.toString('latin1');
  });
  for (const event of ['end', 'close']) {
    socket.once(event, () => {
      isClosed = true;
    });
  }
  await once(socket, 'connect');
  for (const piece of pieces) {
    if (socket.writable) socket.write(piece);
    await settle(whole);
  }
  check();
  await settle(whole);
  const before = { heard: normalizeAnswers(received), isClosed };
  const closed = new Promise((resolve) => socket.once('close', resolve));
  socket.end();
  if (!socket.closed) await closed;
  return { ...before, heardInAll: normalizeAnswers(received) };
}

interface Run {
  readonly seed: number;
  readonly streams: number;
  readonly say: (text: string) => void;
}

/** How many streams there are between two comparisons of all that was recorded. */
const EPISODE = 50;

/** Sends byte streams over real connections to two servers with a store, of which one has no lane. */
export async function compareWhole(t: Context, { seed, streams, say }: Run) {
  mock.timers.enable({ apis: ['setInterval'] });
  t.after(() => mock.timers.reset());
  const check = () => mock.timers.tick(HTTP_LIMITS.connectionCheckMs);
  const [lane, node] = [await openWhole(t, true), await openWhole(t, false)];
  let dropped = 0;
  for (let sent = 0; sent < streams; sent++) {
    const { bytes, cuts, ends } = makeStream(createRandom(seed + sent));
    // One request at a time: Node would carry out those that arrive together in any order.
    const places = [...cuts, ...ends.map((end) => Math.min(end, bytes.length))].sort((a, b) => a - b);
    const stream = { bytes, cuts: places };
    const pieces = piecesOf(stream);
    const [ours, theirs] = [await talk(lane, pieces, check), await talk(node, pieces, check)];
    if (hasHungUp(theirs, ours) || hasHungUp(ours, theirs)) dropped += 1;
    else assert.deepEqual(ours, theirs, describe(stream, seed + sent));
    if (sent % EPISODE === EPISODE - 1 || sent === streams - 1) {
      assert.deepEqual(
        await readRecords(lane),
        await readRecords(node),
        `before ${describe(stream, seed + sent)}`,
      );
    }
  }
  const { inLane, inNode } = lane.work;
  say(`seed ${seed}, ${streams} streams over real connections`);
  say(`${inLane} requests in the lane, ${inNode} left to Node; without the lane ${node.work.inNode}`);
  return { inLane, inNode, dropped };
}

/**
 * Node hangs up with answers to come if something invalid follows, in either server: whether an answer is
 * ready in time depends on how Node is given the bytes. `compareStreams` is stricter.
 */
function hasHungUp(less: Outcome, more: Outcome): boolean {
  return less.isClosed && more.heardInAll !== less.heardInAll && more.heardInAll.startsWith(less.heardInAll);
}

/** Every change has an event. */
async function readRecords({ store }: Whole) {
  const everybody = { licenseId: null, product: null, user: null, after: null };
  return {
    events: await readEvents(store),
    slots: await store.read({ kind: 'list_registrations', ...everybody, limit: 1000 }),
  };
}

function describe(stream: ByteStream, seed: number): string {
  return `seed ${seed}: ${JSON.stringify(piecesOf(stream).map((piece) => piece.toString('latin1')))}`;
}
