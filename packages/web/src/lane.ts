import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import type { AnswerRoute, App } from './app.ts';
import type { BodyBudget, Unfinished } from './body-budget.ts';
import type { Connection, Connections, FastReader } from './connections.ts';
import type { Departure, Peer } from './http-request.ts';
import { HTTP_LIMITS } from './limits.ts';
import type { NetworkPeers } from './network-peer.ts';
import { findHead, HEAD_END_BYTES, type PlainHead, PlainRequest, parsePlainHead } from './plain-request.ts';
import type { Reply } from './reply.ts';
import type { WriteReply } from './write-reply.ts';

interface LaneOptions {
  readonly app: Pick<App, 'findPlain'>;
  readonly event: 'connection' | 'secureConnection';
  readonly peers: NetworkPeers;
  readonly bodies: BodyBudget;
  readonly connections: Connections;
  readonly writeReply: WriteReply;
}

/** What all lanes of a server share. */
interface Lanes extends LaneOptions {
  readonly server: Server;
  /** Lets Node read the rest of a connection. */
  serve(socket: Socket): void;
}

/**
 * The fast lane: reads the requests that clients send all day from the socket itself, which takes Node's HTTP
 * layer longer than everything else about them. It never refuses anything. The first request of a connection
 * that is not in the plain form goes to Node with everything that follows.
 */
export function openLane(server: Server, options: LaneOptions): void {
  // Node adds its own listener first, in the constructor.
  const [serve] = server.listeners(options.event) as [(socket: Socket) => void];
  server.removeListener(options.event, serve);
  const lanes: Lanes = {
    ...options,
    server,
    serve(socket) {
      serve.call(server, socket);
      if (options.event === 'secureConnection') readThroughStream(socket);
    },
  };
  server.on(options.event, (socket: Socket) => {
    if (socket.destroyed) return;
    const connection = options.connections.find(socket);
    // A connection that was reset during its handshake has no address to find it by.
    if (connection === undefined) lanes.serve(socket);
    else connection.lane = new Lane(lanes, socket, connection);
  });
}

/**
 * Node's parser reads directly from the socket's handle unless another listener reads its data. A TLS handle
 * delivers everything that it has decrypted, even after Node paused it because the client reads slowly. The
 * paused parser then reports a broken request (HPE_PAUSED). A paused stream keeps the data instead.
 */
function readThroughStream(socket: Socket): void {
  socket.on('data', () => {});
}

const NOTHING = Buffer.alloc(0);

const KEPT_HEADS = 3;

/** The head of a request, with what follows from it. */
interface ReadHead {
  readonly text: string;
  readonly head: PlainHead;
  readonly answer: AnswerRoute;
  readonly peer: Peer;
}

/** One connection. Its requests are answered one after the other. */
class Lane implements FastReader {
  readonly #lanes: Lanes;
  readonly #socket: Socket;
  readonly #connection: Connection;
  #unread: Buffer = NOTHING;
  /** The size of the request whose rest has not arrived yet. */
  #needed = 0;
  /** The memory of that request. */
  #unfinished: Unfinished | null = null;
  /** A client sends the same few heads again and again. */
  #heads: ReadHead[] = [];
  /** For the request that is being answered. */
  #departure: Departure | null = null;
  isBusy = false;
  isWaiting = false;

  constructor(lanes: Lanes, socket: Socket, connection: Connection) {
    this.#lanes = lanes;
    this.#socket = socket;
    this.#connection = connection;
    socket.on('data', this.#onData);
    socket.on('end', this.#onEnd);
    socket.on('error', this.#onError);
    socket.on('close', this.#forget);
  }

  leave(): void {
    const socket = this.#socket;
    this.#stopReading();
    socket.off('error', this.#onError);
    this.#lanes.serve(socket);
    if (this.#unread.length > 0) socket.unshift(this.#unread);
    socket.resume();
  }

  expire(): void {
    this.#stopReading();
    // The client gets a moment to read the error.
    this.#connection.noteDone();
    this.#fail('ERR_HTTP_REQUEST_TIMEOUT');
  }

  #stopReading(): void {
    this.#socket.off('data', this.#onData);
    this.#socket.off('end', this.#onEnd);
    this.#socket.off('close', this.#forget);
    this.#forget();
    this.#connection.lane = null;
  }

  /** Emits the error that Node emits when it cannot read a request. */
  #fail(code: string): void {
    this.#lanes.server.emit('clientError', Object.assign(new Error(code), { code }), this.#socket);
  }

  readonly #onData = (chunk: Buffer): void => {
    this.#unread = this.#unread.length === 0 ? chunk : Buffer.concat([this.#unread, chunk]);
    if (this.isBusy) this.#waitBehind();
    else if (this.#unread.length >= this.#needed) this.#proceed();
    else this.#wait();
  };

  /**
   * Requests that a client sends before it has the answer wait in the system's buffers. But its end comes
   * behind them, so some are read if it must be noticed.
   */
  #waitBehind(): void {
    if (this.#departure === null || this.#unread.length > HTTP_LIMITS.aheadBytes) this.#socket.pause();
  }

  /** Node refuses it if there is no room. */
  #wait(): void {
    if (this.#unfinished?.keep(this.#unread.length) === false) this.leave();
  }

  readonly #forget = (): void => {
    this.#unfinished?.end();
    this.#unfinished = null;
    if (this.#departure === null) return;
    this.#departure.isGone = true;
    this.#departure.onGone?.();
  };

  /** Only for requests that may take long: most are answered before anybody could leave. */
  readonly #watch = (): Departure => {
    if (this.#departure === null) {
      this.#departure = { isGone: this.#socket.destroyed, onGone: null };
      this.#socket.setKeepAlive(true, HTTP_LIMITS.probeAfterMs);
      this.#socket.resume();
    }
    return this.#departure;
  };

  readonly #onEnd = (): void => {
    if (this.isWaiting) {
      this.#fail('HPE_INVALID_EOF_STATE');
      return;
    }
    // From here on no answer can be written.
    this.#forget();
    this.#socket.end();
  };

  /** The socket closes itself. */
  readonly #onError = (): void => {};

  #proceed(): void {
    const unread = this.#unread;
    const read = this.#readHead();
    if (read === null) {
      this.leave();
      return;
    }
    const { text, head, answer, peer } = read;
    const start = text.length + HEAD_END_BYTES;
    const end = start + head.bodyBytes;
    this.isWaiting = unread.length < end;
    this.#needed = this.isWaiting ? end : 0;
    if (this.isWaiting) {
      this.#unfinished = this.#lanes.bodies.open(() => peer.address);
      this.#wait();
      return;
    }
    if (this.#unfinished !== null) this.#forget();
    this.isBusy = true;
    this.#unread = unread.length === end ? NOTHING : unread.subarray(end);
    answer(new PlainRequest(head, unread.subarray(start, end), this.#watch), peer)
      .then(this.#onReply)
      .catch(this.#onBug);
  }

  #readHead(): ReadHead | null {
    const text = findHead(this.#unread);
    if (text === null) return null;
    const known = this.#heads.find((head) => head.text === text);
    if (known !== undefined) return known;
    const head = parsePlainHead(text);
    const answer = head === null ? undefined : this.#lanes.app.findPlain(head.path);
    if (head === null || answer === undefined) return null;
    const read = { text, head, answer, peer: this.#lanes.peers.readHead(this.#socket, head.headers) };
    this.#heads = [read, ...this.#heads].slice(0, KEPT_HEADS);
    return read;
  }

  readonly #onReply = (reply: Reply): void => {
    const socket = this.#socket;
    if (!socket.writable) return;
    if (this.#lanes.writeReply(socket, reply)) this.#onRead();
    else socket.once('drain', this.#onRead);
  };

  /** Part of a reply may have been written. */
  readonly #onBug = (): void => void this.#socket.destroy();

  readonly #onRead = (): void => {
    this.isBusy = false;
    this.#departure = null;
    this.#connection.noteDone();
    if (this.#unread.length > 0) this.#proceed();
    // Unless that found another request to answer first, or one for Node.
    if (!this.isBusy && this.#connection.lane === this) this.#socket.resume();
  };
}
