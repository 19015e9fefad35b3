import { connect } from '../../../packages/client/src/main.ts';
import type { WaitingCall, WaitingTally } from './waiting-process.ts';

/** How often one of the five slots is given back: each is held for a second. */
const RELEASE_EVERY_MS = 200;

/** Clients do not come all at the same moment. */
const ARRIVAL_MS = 2000;

/** What was due during a pause comes at once afterwards, and does not count. */
const SETTLE_MS = 500;

/** Programs that wait for slots of one license, use them, give them back and wait again. */
class WaitingClients {
  /** Gives back a slot that is held; the one that has been held longest comes first. */
  readonly #held: (() => void)[] = [];
  /** Since when slots are free that nobody has taken yet. */
  readonly #freeSince: number[] = [];
  #onTaken: () => void = () => {};
  #requests = 0;
  #requestsBefore = 0;
  #countedFromMs = performance.now();
  #releases: NodeJS.Timeout | undefined;
  #tally: WaitingTally = { seconds: 0, requests: 0, taken: 0, longestMs: 0, error: null };

  async use(server: string, product: string, user: string): Promise<void> {
    const client = connect({ server, product, user });
    const onWait = ({ error }: { readonly error: Error & { readonly code: string } }) => {
      this.#requests += 1;
      if (error.code !== 'floating_not_available') this.#note({ error: error.message });
    };
    while (true) {
      const slot = await client.acquire({ wait: '1d', onWait });
      this.#requests += 1;
      this.#take();
      await new Promise<void>((resolve) => this.#held.push(resolve));
      this.#freeSince.push(performance.now());
      await slot.release();
      this.#requests += 1;
    }
  }

  #note(change: Partial<WaitingTally>): void {
    this.#tally = { ...this.#tally, ...change };
  }

  #take(): void {
    const sinceMs = this.#freeSince.shift();
    if (sinceMs === undefined) return;
    const { taken, longestMs } = this.#tally;
    this.#note({ taken: taken + 1, longestMs: Math.max(longestMs, performance.now() - sinceMs) });
    this.#onTaken();
  }

  /** Slots are given back from now on; requests count as soon as those are through that are late. */
  async resume(): Promise<void> {
    await new Promise((resolve) => setTimeout(resolve, SETTLE_MS));
    this.#requestsBefore = this.#requests;
    this.#countedFromMs = performance.now();
    this.#releases = setInterval(() => this.#held.shift()?.(), RELEASE_EVERY_MS);
  }

  /** No slot is free any more, so that nobody is late who is paused now. */
  async calm(): Promise<void> {
    if (this.#releases === undefined) return;
    clearInterval(this.#releases);
    this.#releases = undefined;
    const seconds = this.#tally.seconds + (performance.now() - this.#countedFromMs) / 1000;
    this.#note({ seconds, requests: this.#tally.requests + this.#requests - this.#requestsBefore });
    await this.#allTaken();
  }

  async #allTaken(): Promise<void> {
    while (this.#freeSince.length > 0) {
      await new Promise<void>((resolve) => {
        this.#onTaken = resolve;
      });
    }
  }

  /** A slot ends then by itself, and is taken. */
  async expectEnd(inMs: number): Promise<void> {
    this.#freeSince.push(performance.now() + inMs);
    await this.#allTaken();
  }

  /** What happened since the last report. */
  report(): WaitingTally {
    const tally = this.#tally;
    this.#tally = { seconds: 0, requests: 0, taken: 0, longestMs: 0, error: null };
    return tally;
  }
}

const [, , server, product, count] = process.argv as [string, string, string, string, string];
const clients = new WaitingClients();

process.on('disconnect', () => process.exit());
process.on('message', async (call: WaitingCall) => {
  if (call.kind === 'resume') await clients.resume();
  else if (call.kind === 'calm') await clients.calm();
  else if (call.kind === 'expect_end') await clients.expectEnd(call.atMs - Date.now());
  process.send?.(clients.report());
});

for (let index = 0; index < Number(count); index++) {
  const user = `waiting-${index}`;
  setTimeout(() => void clients.use(server, product, user), Math.random() * ARRIVAL_MS);
}
