import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { type Duplex, Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setImmediate as letOthersRun } from 'node:timers/promises';
import type { Answer, ChaosPlan, Fault, Request } from './chaos-fault.ts';
import { Journal } from './chaos-journal.ts';
import {
  changeAnswer,
  changeRequest,
  encodeAnswer,
  encodeHalf,
  encodeHugeHead,
  forward,
  GARBAGE,
  hideHeaders,
  makeUpAnswer,
} from './chaos-message.ts';

/** Large enough to expose a caller that reads without a limit. */
const HUGE_BYTES = 64 * 1024 ** 2;
const HUGE_CHUNK = Buffer.alloc(64 * 1024, ' ');
const CLOSES_UNREAD: readonly Fault['kind'][] = ['refuse', 'reset'];

/** A caller's connection: the stream to write to, and the underlying TCP socket, which TLS may hide. */
export interface Line {
  readonly stream: Duplex;
  readonly socket: Socket;
}

/** Writes at the caller's reading speed, then ends the stream. */
async function sendAll(stream: Duplex, chunks: AsyncIterable<Buffer> | Iterable<Buffer>): Promise<void> {
  try {
    await pipeline(Readable.from(chunks), stream);
  } catch {
    // The caller may close the connection at any time.
  }
}

function* makeHuge(head: Buffer): Generator<Buffer> {
  yield head;
  for (let sent = 0; sent < HUGE_BYTES; sent += HUGE_CHUNK.length) yield HUGE_CHUNK;
}

async function* drip(bytes: Buffer): AsyncGenerator<Buffer> {
  for (const byte of bytes) {
    yield Buffer.from([byte]);
    await letOthersRun();
  }
}

function cut({ socket }: Line, fault: Fault): void {
  if (fault.kind === 'reset') socket.resetAndDestroy();
  else socket.destroy();
}

function giveBack(line: Line, fault: Fault, answer: Answer): unknown {
  switch (fault.kind) {
    case 'hang_after':
      return undefined;
    case 'cut_after':
      return cut(line, fault);
    case 'cut_within':
      return line.stream.end(encodeHalf(answer));
    case 'drip':
      return sendAll(line.stream, drip(encodeAnswer(answer)));
    default:
      return line.stream.end(encodeAnswer(changeAnswer(fault, answer)));
  }
}

/** Applies the planned fault to each request and records it in the journal. */
export class ChaosRunner {
  readonly journal = new Journal();
  readonly ending = new AbortController();
  plan: ChaosPlan;
  /** Request headers that are not forwarded. */
  hiddenHeaders: readonly string[] = [];
  readonly #target: string;

  constructor(target: string, plan: ChaosPlan) {
    this.#target = target;
    this.plan = plan;
  }

  /** Closes the connection unread if the plan says so, and returns whether it did. */
  closesUnread(socket: Socket): boolean {
    if (typeof this.plan === 'function' || !CLOSES_UNREAD.includes(this.plan.kind)) return false;
    this.journal.add('', '', this.plan.kind);
    cut({ socket, stream: socket }, this.plan);
    return true;
  }

  async serve(line: Line, incoming: IncomingMessage): Promise<void> {
    const body = await incoming.toArray().catch(() => null);
    if (body === null) return;
    const { method = '', url = '', rawHeaders: headers } = incoming;
    const request = { method, target: url, headers, body: Buffer.concat(body) };
    try {
      await this.#apply(line, request);
    } catch (error) {
      line.socket.destroy();
      throw error;
    }
  }

  async #apply(line: Line, request: Request): Promise<unknown> {
    const { plan, journal } = this;
    const { method, body } = request;
    const n = journal.requests.length;
    const path = request.target.replace(/\?.*$/s, '');
    const fault = typeof plan === 'function' ? plan({ n, method, path, body: body.toString() }) : plan;
    const noteStatus = journal.add(method, path, fault.kind);
    const madeUp = makeUpAnswer(fault, n);
    if (madeUp !== null) return line.stream.end(encodeAnswer(madeUp));
    switch (fault.kind) {
      case 'hang':
        return undefined;
      case 'refuse':
      case 'reset':
      case 'cut_before':
        return cut(line, fault);
      case 'garbage':
        return line.stream.end(GARBAGE);
      case 'meddle': {
        const answer = await fault.answer(request);
        return answer === null ? cut(line, fault) : line.stream.end(encodeAnswer(answer));
      }
      case 'huge':
      case 'huge_declared':
        return sendAll(line.stream, makeHuge(encodeHugeHead(fault.kind === 'huge_declared')));
      default:
        return this.#relay(line, fault, request, noteStatus);
    }
  }

  async #relay(line: Line, fault: Fault, request: Request, noteStatus: (status: number) => void) {
    if (fault.kind === 'delay') await fault.untilReleased;
    if (fault.kind === 'duplicate') await this.#ask(fault, request, noteStatus);
    const answer = await this.#ask(fault, request, noteStatus);
    if (fault.kind === 'late') await fault.untilReleased;
    return answer === null ? cut(line, fault) : giveBack(line, fault, answer);
  }

  /** The target's response; null if the target is down or the proxy is closing. */
  async #ask(fault: Fault, request: Request, noteStatus: (status: number) => void): Promise<Answer | null> {
    try {
      const seen = hideHeaders(changeRequest(fault, request), this.hiddenHeaders);
      const answer = await forward(this.#target, seen, this.ending.signal);
      noteStatus(answer.status);
      return answer;
    } catch {
      return null;
    }
  }
}
