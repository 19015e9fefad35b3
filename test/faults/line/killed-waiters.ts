import { type ChildProcess, spawn } from 'node:child_process';
import { request as requestPlain } from 'node:http';
import { request as requestTls } from 'node:https';
import { setTimeout as delay } from 'node:timers/promises';
import type { AuditedEvent } from '../../support/berth-api.ts';
import { pickOne, type Random } from '../../support/random.ts';
import { ask, type LineOptions, type LineSite, REGISTER, sayTimes, WAIT } from './line-site.ts';

/**
 * `close` and `reset` end the connection, `process` the whole client. Who closes can still read an answer
 * that was on its way, so without one it is certain that the slot must be returned.
 */
type Way = 'close' | 'reset' | 'process';

interface Doomed {
  readonly user: string;
  readonly way: Way;
  /** Dies when it is the next to get a slot; otherwise at any moment. */
  readonly diesAtItsTurn: boolean;
  kill: () => void;
  killedMs: number | null;
  isServed: boolean;
}

/** A client dies from so much before a slot is free until so much after. */
const BEFORE_MS = 4;
const AFTER_MS = 6;

/** Clients that wait, and die before they are served: at any moment, or when a slot is about to be theirs. */
export class KilledWaiters {
  readonly #site: LineSite;
  readonly #random: Random;
  readonly #options: LineOptions;
  readonly #doomed = new Map<string, Doomed>();
  readonly #served = new Set<string>();
  #line: readonly string[] = [];

  constructor(site: LineSite, random: Random, options: LineOptions) {
    this.#site = site;
    this.#random = random;
    this.#options = options;
    const { waiters, killed, tls } = options;
    // Node cannot reset a TLS connection.
    const ways: readonly Way[] = tls ? ['close', 'process'] : ['close', 'reset', 'process'];
    while (this.#doomed.size < killed) {
      const user = `user-${String(Math.floor(random() * waiters)).padStart(4, '0')}`;
      const [way, diesAtItsTurn] = [pickOne(random, ways), random() < 0.6];
      this.#doomed.set(user, { user, way, diesAtItsTurn, kill: () => {}, killedMs: null, isServed: false });
    }
  }

  has(user: string): boolean {
    return this.#doomed.has(user);
  }

  /** Returns whether it died before it was served. */
  async wait(user: string): Promise<boolean> {
    const doomed = this.#doomed.get(user) as Doomed;
    while (doomed.killedMs === null && !doomed.isServed)
      doomed.isServed = await (doomed.way === 'process' ? this.#runCurl(doomed) : this.#send(doomed));
    if (doomed.isServed) this.noteServed(user);
    return !doomed.isServed;
  }

  /** Returns whether there was an answer that lends a slot. */
  #send(doomed: Doomed): Promise<boolean> {
    const { tls } = this.#options;
    const headers = { 'content-type': 'application/json', ...WAIT };
    const options = { method: 'POST', headers, agent: false, ...(tls ? { ca: this.#site.ca } : {}) };
    const sent = (tls ? requestTls : requestPlain)(`${this.#site.first.url}${REGISTER}`, options);
    doomed.kill = () => (doomed.way === 'reset' ? sent.socket?.resetAndDestroy() : sent.socket?.end());
    return new Promise((resolve) => {
      sent.on('response', (response) => {
        response.resume();
        resolve(response.statusCode === 200);
      });
      sent.on('error', () => resolve(false));
      sent.end(JSON.stringify(ask(doomed.user)));
    });
  }

  #runCurl(doomed: Doomed): Promise<boolean> {
    const headers = ['-H', 'content-type: application/json', '-H', `prefer: ${WAIT.prefer}`];
    const url = `${this.#site.first.url}${REGISTER}`;
    const words = [
      '-sS',
      '-k',
      '-f',
      '-o',
      '/dev/null',
      ...headers,
      '-d',
      JSON.stringify(ask(doomed.user)),
      url,
    ];
    const curl: ChildProcess = spawn('curl', words, { stdio: 'ignore' });
    doomed.kill = () => curl.kill('SIGKILL');
    return new Promise((resolve) => curl.once('exit', (code) => resolve(code === 0)));
  }

  /** All are in line. */
  start(line: readonly string[]): void {
    this.#line = line;
    const { slots, holdMs } = this.#options;
    for (const [place, user] of line.entries()) {
      const doomed = this.#doomed.get(user);
      if (doomed === undefined || doomed.diesAtItsTurn) continue;
      setTimeout(() => this.#kill(doomed), (this.#random() * place * holdMs) / slots);
    }
  }

  noteServed(user: string): void {
    this.#served.add(user);
  }

  #kill(doomed: Doomed): void {
    if (doomed.isServed || doomed.killedMs !== null) return;
    doomed.killedMs = Date.now();
    doomed.kill();
  }

  /** Kills whoever is next, if it is to die at its turn, and then whoever is next instead. */
  async beforeSlotIsFree(): Promise<void> {
    let sooner = 0;
    for (const user of this.#line) {
      const doomed = this.#doomed.get(user);
      if (this.#served.has(user) || doomed?.killedMs != null) continue;
      if (doomed === undefined || !doomed.diesAtItsTurn) break;
      this.#served.add(user);
      const moment = this.#random() * (BEFORE_MS + AFTER_MS) - BEFORE_MS;
      sooner = Math.max(sooner, -moment);
      setTimeout(() => this.#kill(doomed), Math.max(0, moment));
    }
    if (sooner > 0) await delay(sooner);
  }

  /** What became of the slots of those who died. */
  describe(events: readonly AuditedEvent[], violations: string[]): readonly string[] {
    const dead = [...this.#doomed.values()].filter(
      ({ killedMs, isServed }) => killedMs !== null && !isServed,
    );
    const lost: number[] = [];
    let expired = 0;
    for (const { user, way, killedMs } of dead) {
      const own = events.filter((event) => event.user === user);
      const lent = own.find(({ kind }) => kind === 'slot_lent');
      const returned = own.find(({ kind }) => kind === 'slot_returned');
      if (lent === undefined) continue;
      if (returned === undefined && way === 'close') violations.push(`The slot of ${user} was not returned.`);
      if (returned === undefined) expired += 1;
      else
        lost.push(
          Date.parse(String(returned.at)) - Math.max(killedMs as number, Date.parse(String(lent.at))),
        );
    }
    const ways = Map.groupBy(dead, ({ way }) => way);
    return [
      `killed: ${dead.length} (${[...ways].map(([way, { length }]) => `${way} ${length}`).join(', ')})`,
      `had been lent a slot when they died: ${lost.length + expired}`,
      sayTimes('from the death of a client to the return of its slot', lost),
      `the answer was on its way, so the slot ended by its timeout: ${expired}`,
    ];
  }
}
