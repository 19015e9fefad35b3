import { type BenchRun, HEARTBEATS, type LoadWish } from '../bench-run.ts';
import { joinSlices, type Slice } from '../measurement.ts';
import { readCpuSeconds } from '../process-facts.ts';
import type { Scenario, Verdict } from '../scenarios.ts';
import type { BenchServer } from '../servers.ts';

/** As often as nobody scrapes: usual are 15 to 60 seconds. */
const INTERVAL_MS = 1000;

/** Pairs of turns, with and without scrapes: each goes first as often as the other. */
const PAIRS = 10;

/** Enough for hundredths of a second, in which the kernel counts, not to matter. */
const SCRAPES = 200;

const TARGET = 'a scrape every second beside 64 connections of heartbeats: under 2 % of the processor time';

async function scrapeOnce({ url }: BenchServer): Promise<number> {
  const response = await fetch(`${url}/metrics`);
  const { length } = await response.text();
  if (response.status !== 200) throw new Error(`/metrics was answered ${response.status}.`);
  return length;
}

async function loadScraped(
  bench: BenchRun,
  server: BenchServer,
  wish: LoadWish,
  seconds: number,
): Promise<Slice> {
  const scrapeQuietly = () => void scrapeOnce(server).catch(() => {});
  scrapeQuietly();
  const timer = setInterval(scrapeQuietly, INTERVAL_MS);
  try {
    return await bench.load([server], wish, seconds);
  } finally {
    clearInterval(timer);
  }
}

/** Alone, because beside a load that changes from second to second it could not be seen. */
async function measureScrape(server: BenchServer): Promise<number | null> {
  for (let count = 0; count < SCRAPES; count++) await scrapeOnce(server);
  const before = readCpuSeconds(server.pid);
  for (let count = 0; count < SCRAPES; count++) await scrapeOnce(server);
  const after = readCpuSeconds(server.pid);
  return before === null || after === null ? null : (after - before) / SCRAPES;
}

/** The store is only read once a second, so its part is measured in its own time. */
async function measureRead(server: BenchServer): Promise<number | null> {
  const before = readCpuSeconds(server.pid);
  for (let count = 0; count < SCRAPES; count++) {
    await fetch(`${server.url}/api/v4/licenses`).then((response) => response.arrayBuffer());
  }
  const after = readCpuSeconds(server.pid);
  return before === null || after === null ? null : (after - before) / SCRAPES;
}

/** Renewals by turns, with and without somebody who reads the metrics. */
export const scrape: Scenario = {
  name: 'scrape',
  about: 'renewals while the metrics are read every second, by turns with renewals alone',
  async run(bench): Promise<readonly Verdict[]> {
    const server = await bench.berth();
    const wish: LoadWish = { label: 'heartbeat', connections: 64, ...HEARTBEATS };
    const turns = { alone: [] as Slice[], scraped: [] as Slice[] };
    const seconds = Math.max(1, Math.round((bench.seconds * 2) / 3));
    for (let pair = 0; pair < PAIRS; pair++) {
      const work = {
        alone: () => bench.load([server], wish, seconds),
        scraped: () => loadScraped(bench, server, wish, seconds),
      };
      const kinds = ['alone', 'scraped'] as const;
      for (const kind of pair % 2 === 0 ? kinds : kinds.toReversed()) turns[kind].push(await work[kind]());
    }
    const alone = joinSlices(turns.alone);
    const rates = turns.scraped.map((slice, pair) => rateOf(slice) / rateOf(turns.alone[pair]));
    const costs = turns.scraped.map((slice, pair) => costOf(slice) / costOf(turns.alone[pair]));
    const [perScrape, perRead] = [await measureScrape(server), await measureRead(server)];
    bench.note('scrape: rate beside scrapes, of the rate alone', describe(rates));
    bench.note('scrape: size of a page in kB', ((await scrapeOnce(server)) / 1000).toFixed(0));
    const { cpuMicros } = alone;
    if (perScrape === null || perRead === null || cpuMicros === null) {
      return [{ target: TARGET, measured: 'cannot be read on this system', isMet: null }];
    }
    bench.note('scrape: processor time of a request, of that alone', describe(costs));
    bench.note(
      'scrape: processor time of a page, and of reading all licenses, in ms',
      ms(perScrape, perRead),
    );
    const share = (perScrape + perRead) / ((alone.rate * cpuMicros) / 1e6);
    return [{ target: TARGET, measured: `${(share * 100).toFixed(2)} %`, isMet: share < 0.02 }];
  },
};

function rateOf(slice: Slice | undefined): number {
  return joinSlices(slice === undefined ? [] : [slice]).rate;
}

function costOf(slice: Slice | undefined): number {
  return joinSlices(slice === undefined ? [] : [slice]).cpuMicros ?? Number.NaN;
}

/** Neighbours disturb single pairs, and the middle of all little. */
function describe(ratios: readonly number[]): string {
  const sorted = ratios.toSorted((a, b) => a - b);
  const at = (part: number) => (sorted[Math.round((sorted.length - 1) * part)] ?? Number.NaN).toFixed(3);
  return `${at(0.5)} (half of the pairs: ${at(0.25)} to ${at(0.75)})`;
}

function ms(...seconds: readonly number[]): string {
  return seconds.map((one) => (one * 1000).toFixed(2)).join(' + ');
}
