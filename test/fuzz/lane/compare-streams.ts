import assert from 'node:assert/strict';
import { findHead, HEAD_END_BYTES, parsePlainHead } from '@berth/web/plain-request';
import { normalizeAnswers } from './answer-stream.ts';
import { type EchoPair, type EchoServer, turn } from './echo-pair.ts';
import { type ByteStream, piecesOf } from './make-stream.ts';
import { MemorySocket } from './memory-socket.ts';

/** What a client has got before and after it closed its side. */
interface Outcome {
  readonly heard: string;
  readonly isClosed: boolean;
  readonly heardInAll: string;
  readonly isDropped: boolean;
  readonly left: MemorySocket['left'];
}

interface Talk {
  readonly server: EchoServer;
  readonly pieces: readonly Buffer[];
}

/** Quiet for so many turns of the event loop: nothing else is coming. */
const QUIET_TURNS = 4;

async function settle(servers: readonly EchoServer[], turns = QUIET_TURNS): Promise<void> {
  for (let quiet = 0; quiet < turns; quiet++) {
    await turn();
    if (servers.some(({ pending }) => pending > 0)) quiet = -1;
  }
}

/** After so many writes a second passes. */
const CHECK_AFTER = 2;

/** All at the same time, which takes far less time. */
async function talkAll(pair: EchoPair, talks: readonly Talk[]): Promise<readonly Outcome[]> {
  const servers = [pair.lane, pair.node];
  const sockets = talks.map(({ server }) => {
    const socket = new MemorySocket();
    server.server.emit('connection', socket);
    return socket;
  });
  const writes = Math.max(...talks.map(({ pieces }) => pieces.length));
  for (let write = 0; write < writes; write++) {
    talks.forEach(({ pieces }, index) => {
      const piece = pieces[write];
      if (piece !== undefined) sockets[index]?.push(piece);
    });
    await settle(servers, 1);
    if (write === CHECK_AFTER) pair.check();
  }
  pair.check();
  await settle(servers);
  const before = sockets.map((socket) => ({ heard: socket.readAll(), isClosed: isClosed(socket) }));
  for (const socket of sockets) if (!socket.destroyed) socket.push(null);
  await settle(servers);
  return sockets.map((socket, index) => {
    const isDropped = socket.destroyed && !socket.isFinished;
    const heardInAll = socket.readAll();
    socket.destroy();
    return { ...(before[index] as (typeof before)[number]), heardInAll, isDropped, left: socket.left };
  });
}

function isClosed(socket: MemorySocket): boolean {
  return socket.isFinished || socket.destroyed;
}

function clean({ heard, isClosed, heardInAll, isDropped }: Outcome) {
  const normal = normalizeAnswers(heardInAll);
  return {
    heard: heard === heardInAll ? normal : normalizeAnswers(heard),
    isClosed,
    heardInAll: normal,
    isDropped,
  };
}

/** Whether Node has closed a connection with answers to come, because of what the client sent after them. */
function hasDroppedAnswers(node: Outcome, lane: Outcome): boolean {
  return node.isDropped && normalizeAnswers(lane.heardInAll).startsWith(normalizeAnswers(node.heardInAll));
}

/** Where the requests end that the lane has answered before it left the rest to Node. */
function listEnds(bytes: Buffer, until: number): readonly number[] {
  const ends: number[] = [];
  for (let at = 0; at < until; at = ends.at(-1) as number) {
    const text = findHead(bytes.subarray(at)) ?? '';
    const head = parsePlainHead(text);
    assert.ok(head !== null, 'the lane has read it');
    ends.push(at + text.length + HEAD_END_BYTES + head.bodyBytes);
  }
  return ends;
}

/** Each request that the lane has answered by itself, then the rest as Node has got it from the lane. */
function paceLike({ bytes, cuts }: ByteStream, { left }: Outcome): readonly Buffer[] {
  const { at, received } = left ?? { at: bytes.length, received: bytes.length };
  return piecesOf({
    bytes,
    cuts: [...listEnds(bytes, at), received, ...cuts.filter((cut) => cut > received)],
  });
}

/**
 * Both servers must send the same. Only where Node gives up answers that it owes, because something invalid
 * follows, may the lane do better: it must then send what Node sends to a client that waits for each answer.
 * Returns for how many of the streams that was so.
 */
export async function compareStreams(pair: EchoPair, streams: readonly ByteStream[]): Promise<number> {
  const talks = streams.flatMap((stream) => {
    const pieces = piecesOf(stream);
    return [pair.lane, pair.node].map((server) => ({ server, pieces }));
  });
  const outcomes = await talkAll(pair, talks);
  const dropped: { stream: ByteStream; lane: Outcome }[] = [];
  streams.forEach((stream, index) => {
    const [lane, node] = outcomes.slice(2 * index) as [Outcome, Outcome];
    if (isSame(lane, node)) return;
    if (hasDroppedAnswers(node, lane)) dropped.push({ stream, lane });
    else assert.deepEqual(clean(lane), clean(node), describe(stream));
  });
  if (dropped.length === 0) return 0;
  const patient = dropped.map(({ stream, lane }) => ({ server: pair.node, pieces: paceLike(stream, lane) }));
  const references = await talkAll(pair, patient);
  dropped.forEach(({ stream, lane }, index) => {
    assert.deepEqual(clean(lane), clean(references[index] as Outcome), describe(stream));
  });
  return dropped.length;
}

function isSame(lane: Outcome, node: Outcome): boolean {
  const [a, b] = [clean(lane), clean(node)];
  return (
    a.heard === b.heard &&
    a.heardInAll === b.heardInAll &&
    a.isClosed === b.isClosed &&
    a.isDropped === b.isDropped
  );
}

function describe(stream: ByteStream): string {
  return `They differ on ${JSON.stringify(piecesOf(stream).map((piece) => piece.toString('latin1')))}`;
}
