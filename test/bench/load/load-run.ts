import { LatencyHistogram } from './latency.ts';
import { LoadConnection } from './load-connection.ts';
import {
  type Address,
  type LoadPlan,
  type LoadResult,
  NONCE_MARK,
  nonceDigits,
  type RequestPlan,
  USER_MARK,
  userAt,
  userDigits,
} from './load-plan.ts';

/** A connection with the bytes of its requests and what it waits for. */
interface Sender {
  readonly index: number;
  readonly address: Address;
  readonly requests: readonly PreparedRequest[];
  /** The one whose number the bytes have. */
  user: number;
  connection: LoadConnection | null;
  step: number;
  /** When the request under way should have been sent; `null`: none is. */
  dueMs: number | null;
}

interface PreparedRequest {
  readonly bytes: Buffer;
  /** Where in the bytes the user's number stands. */
  readonly marks: readonly number[];
  readonly nonceMarks: readonly number[];
  readonly statuses: readonly number[];
}

function prepare({ method, path, body, statuses }: RequestPlan, { host, port }: Address): PreparedRequest {
  const head =
    `${method} ${path} HTTP/1.1\r\nHost: ${host}:${port}\r\nContent-Type: application/json\r\n` +
    `Content-Length: ${Buffer.byteLength(body)}\r\n\r\n`;
  const bytes = Buffer.from(head + body, 'latin1');
  return { bytes, marks: findAll(bytes, USER_MARK), nonceMarks: findAll(bytes, NONCE_MARK), statuses };
}

function findAll(bytes: Buffer, text: string): readonly number[] {
  const places: number[] = [];
  for (let at = bytes.indexOf(text); at >= 0; at = bytes.indexOf(text, at + text.length)) places.push(at);
  return places;
}

function prepareSender({ servers, requests }: LoadPlan, index: number): Sender {
  const address = servers[index % servers.length] as Address;
  return {
    index,
    address,
    requests: requests.map((request) => prepare(request, address)),
    user: -1,
    connection: null,
    step: 0,
    dueMs: null,
  };
}

function writeUser(sender: Sender, user: number): void {
  if (sender.user === user) return;
  sender.user = user;
  const digits = userDigits(user);
  for (const { bytes, marks } of sender.requests)
    for (const mark of marks) bytes.write(digits, mark, 'latin1');
}

/** How long the last answers may take after the end before they count as missing. */
const DRAIN_MS = 5000;
const TICK_MS = 1;

/** Runs one plan, once. */
export class LoadRun {
  readonly #plan: LoadPlan;
  readonly #latencies = new LatencyHistogram();
  readonly #senders: Sender[];
  readonly #idle: Sender[] = [];
  /** Times at which requests were due that no connection was free for. */
  readonly #backlog: number[] = [];
  #backlogStart = 0;
  #startedRounds = 0;
  #nonces = 0;
  #measureFromMs = 0;
  #measureToMs = Number.POSITIVE_INFINITY;
  #lastAnswerMs = 0;
  #answered = 0;
  #counted = 0;
  #busy = 0;
  #errors = 0;
  #firstError: string | null = null;
  #isEnding = false;
  readonly #drained = Promise.withResolvers<void>();

  constructor(plan: LoadPlan) {
    this.#plan = plan;
    this.#senders = Array.from({ length: plan.connections }, (_, index) => prepareSender(plan, index));
  }

  async run(): Promise<LoadResult> {
    await Promise.all(this.#senders.map((sender) => this.#connect(sender)));
    const startMs = performance.now();
    const idleBefore = performance.eventLoopUtilization();
    this.#measureFromMs = startMs + this.#plan.warmupSeconds * 1000;
    if (this.#plan.rounds === null) {
      this.#measureToMs = this.#measureFromMs + this.#plan.seconds * 1000;
      setTimeout(() => this.#end(), this.#measureToMs - startMs);
    }
    if (this.#plan.rate === null)
      for (const sender of this.#senders) this.#startRound(sender, startMs, this.#firstStep(sender));
    else this.#pace(this.#plan.rate, startMs);
    const overdue = setTimeout(() => this.#drained.resolve(), this.#longestMs());
    await this.#drained.promise;
    clearTimeout(overdue);
    const { utilization } = performance.eventLoopUtilization(idleBefore);
    for (const { connection } of this.#senders) connection?.close();
    return this.#result(utilization);
  }

  #longestMs(): number {
    const { warmupSeconds, seconds } = this.#plan;
    return (warmupSeconds + seconds) * 1000 + DRAIN_MS;
  }

  async #connect(sender: Sender): Promise<void> {
    sender.connection = await LoadConnection.open(sender.address, {
      onAnswer: (status) => this.#hear(sender, status),
      onBroken: (reason) => this.#lose(sender, reason),
    });
    this.#idle.push(sender);
  }

  /** Requests are due at even distances. A late one counts from when it was due, as its user would. */
  #pace(rate: number, startMs: number): void {
    let sent = 0;
    const tick = () => {
      const untilMs = Math.min(performance.now(), this.#measureToMs);
      const dueCount = ((untilMs - startMs) / 1000) * rate;
      for (; sent < dueCount; sent++) this.#backlog.push(startMs + (sent / rate) * 1000);
      while (this.#idle.length > 0 && this.#sendBacklog(this.#idle.at(-1) as Sender)) this.#idle.pop();
      if (!this.#isEnding) setTimeout(tick, TICK_MS);
    };
    tick();
  }

  #sendBacklog(sender: Sender): boolean {
    const dueMs = this.#backlog[this.#backlogStart];
    if (dueMs === undefined) return false;
    this.#backlogStart++;
    this.#startRound(sender, dueMs);
    return true;
  }

  #firstStep({ index, requests }: Sender): number {
    return this.#plan.isStaggered ? index % requests.length : 0;
  }

  #startRound(sender: Sender, dueMs: number, step = 0): void {
    const { rounds, users } = this.#plan;
    if (rounds !== null && this.#startedRounds === rounds) {
      this.#end();
      return;
    }
    writeUser(sender, userAt(users, this.#pickIndex(sender)));
    this.#startedRounds++;
    sender.step = step;
    this.#busy++;
    this.#send(sender, dueMs);
  }

  #pickIndex({ index }: Sender): number {
    const { connections, users } = this.#plan;
    if (users.pick === 'own') return index % users.count;
    if (users.pick === 'next') return (this.#plan.earlierRounds + this.#startedRounds) % users.count;
    const share = Math.floor(users.count / connections);
    return index + connections * Math.floor(Math.random() * share);
  }

  #send(sender: Sender, dueMs: number): void {
    sender.dueMs = dueMs;
    const { bytes, nonceMarks } = sender.requests[sender.step] as PreparedRequest;
    for (const mark of nonceMarks) bytes.write(nonceDigits(this.#nonces++), mark, 'latin1');
    sender.connection?.send(bytes);
  }

  #hear(sender: Sender, status: number): void {
    const nowMs = performance.now();
    if (sender.dueMs === null) {
      this.#noteError('An answer arrived that nobody had asked for.');
      return;
    }
    this.#answered++;
    this.#count(sender.dueMs, nowMs);
    sender.dueMs = null;
    const request = sender.requests[sender.step] as PreparedRequest;
    if (!request.statuses.includes(status))
      this.#noteError(`The answer was ${status} instead of ${request.statuses.join(' or ')}.`);
    sender.step++;
    if (sender.step < sender.requests.length) this.#send(sender, nowMs);
    else this.#finishRound(sender, nowMs);
  }

  /** By when the answer came, which brings the next request; at a pace, by when the request was due. */
  #count(dueMs: number, nowMs: number): void {
    const atMs = this.#plan.rate === null ? nowMs : dueMs;
    if (atMs < this.#measureFromMs) return;
    this.#latencies.record(nowMs - dueMs);
    if (atMs >= this.#measureToMs) return;
    this.#counted++;
    this.#lastAnswerMs = nowMs;
  }

  #finishRound(sender: Sender, nowMs: number): void {
    this.#busy--;
    if (this.#plan.rate !== null) {
      if (!this.#sendBacklog(sender)) this.#idle.push(sender);
    } else if (!this.#isEnding) this.#startRound(sender, nowMs);
    if (this.#isEnding) this.#noteDrained();
  }

  #lose(sender: Sender, reason: string): void {
    this.#noteError(reason);
    if (sender.dueMs === null) return;
    sender.dueMs = null;
    this.#busy--;
    this.#noteDrained();
  }

  #end(): void {
    this.#isEnding = true;
    this.#noteDrained();
  }

  #noteDrained(): void {
    if (this.#busy === 0) this.#drained.resolve();
  }

  #noteError(reason: string): void {
    this.#errors++;
    this.#firstError ??= reason;
  }

  #result(busyShare: number): LoadResult {
    const unsent = this.#backlog.length - this.#backlogStart;
    if (this.#busy + unsent > 0) this.#noteError(`${this.#busy + unsent} requests were not answered.`);
    const isTimed = this.#plan.rounds === null && this.#plan.rate === null;
    const toMs = isTimed ? this.#measureToMs : this.#lastAnswerMs;
    return {
      rounds: this.#startedRounds,
      answered: this.#answered,
      seconds: (toMs - this.#measureFromMs) / 1000,
      counted: this.#counted,
      latencies: this.#latencies.counts(),
      max: this.#latencies.max,
      errors: this.#errors,
      firstError: this.#firstError,
      busyShare,
    };
  }
}
