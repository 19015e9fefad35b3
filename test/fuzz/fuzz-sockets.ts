import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import fc from 'fast-check';
import { openSocket } from '../support/raw-socket.ts';
import type { ServerProcess } from '../support/server-process.ts';
import { anyUtterance, type Utterance } from './fuzz-bytes.ts';
import { judgeInsides, judgeProblem } from './fuzz-judge.ts';

interface SocketFuzz {
  readonly seed: number;
  readonly connections: number;
}

/** How many answers there were, by their status. */
type Statuses = Map<number, number>;

const AT_ONCE = 20;

/** Talks to a running server over many connections, and judges whatever comes back. */
export async function fuzzSockets(
  server: ServerProcess,
  { seed, connections }: SocketFuzz,
): Promise<Statuses> {
  const statuses: Statuses = new Map();
  const utterance = anyUtterance(await listPaths(server.url));
  const crowd = fc.array(utterance, { minLength: AT_ONCE, maxLength: AT_ONCE });
  const property = fc.asyncProperty(crowd, async (all) => {
    const received = await Promise.all(all.map((one) => utter(server.url, one)));
    received.forEach((text, index) => {
      // Whoever hangs up may have heard half an answer.
      if (all[index]?.manner !== 'hangs up') judgeAnswers(text, statuses);
    });
    assert.equal(server.child.exitCode, null, 'the server is still there');
  });
  await fc.assert(property, { seed, numRuns: Math.ceil(connections / AT_ONCE) });
  return statuses;
}

/** Every path that the server itself says that it has. */
async function listPaths(url: string): Promise<readonly string[]> {
  const document = (await (await fetch(`${url}/api/v4/openapi.json`)).json()) as { paths: object };
  return Object.keys(document.paths);
}

/** After so long without a word there will be none until we have finished. */
const QUIET_MS = 100;
/** Longer than the server waits for anything. */
const LONGEST_MS = 60_000;

/** Everything that comes back until the connection is closed, in good order or not. */
async function utter(url: string, { bytes, cuts, manner }: Utterance): Promise<string> {
  const socket = openSocket(url).setNoDelay(true);
  const received = listenTo(socket);
  let isLeftAlone = false;
  const patience = setTimeout(() => {
    isLeftAlone = true;
    socket.destroy();
  }, LONGEST_MS);
  for (const piece of splitAt(bytes, cuts)) await write(socket, piece);
  if (manner === 'hangs up') socket.resetAndDestroy();
  else if (manner === 'half-closes') socket.end();
  else socket.setTimeout(QUIET_MS, () => socket.end());
  const text = await received;
  clearTimeout(patience);
  assert.equal(isLeftAlone, false, 'the server neither answers nor hangs up');
  return text;
}

function listenTo(socket: Socket): Promise<string> {
  return new Promise((resolve) => {
    let received = '';
    socket.setEncoding('latin1').on('data', (text: string) => {
      received += text;
    });
    // What the server has no use for may be cut off while it is being sent; its answer counts.
    socket.on('error', () => {});
    socket.on('close', () => resolve(received));
  });
}

function splitAt(bytes: string, cuts: readonly number[]): readonly string[] {
  const places = [0, ...cuts.map((share) => Math.floor(share * bytes.length)), bytes.length].sort(
    (a, b) => a - b,
  );
  return places.slice(1).map((end, index) => bytes.slice(places[index], end));
}

/** One piece after the other, as long as the server takes them. */
async function write(socket: Socket, piece: string): Promise<void> {
  if (!socket.writable) return;
  // It is called with an error, too, when the connection is lost; that is seen elsewhere.
  await new Promise<void>((resolve) => socket.write(piece, 'latin1', () => resolve()));
}

/** Refusals in JSON, nothing that is the server's own fault, and nothing about its inside. */
function judgeAnswers(received: string, statuses: Statuses): void {
  if (received === '') return;
  for (const answer of received.split(/(?=HTTP\/1\.1 \d{3} )/)) {
    assert.match(answer, /^HTTP\/1\.1 \d{3} /);
    judgeInsides(/^Content-Type: (.*)\r$/m.exec(answer)?.[1] ?? '', answer);
    const status = Number(answer.slice(9, 12));
    statuses.set(status, (statuses.get(status) ?? 0) + 1);
    // For a method that is none.
    assert.ok(status < 500 || status === 501, answer);
    const body = answer.slice(answer.indexOf('\r\n\r\n') + 4);
    // An answer to HEAD has none.
    if (status >= 400 && body !== '') judgeProblem(status, body);
  }
}
