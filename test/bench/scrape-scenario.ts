import { type BenchRun, HEARTBEATS, type LoadWish } from './bench-run.ts';
import { joinSlices, type Slice } from './measurement.ts';
import { readCpuSeconds } from './process-facts.ts';
import type { Scenario, Verdict } from './scenarios.ts';
import type { BenchServer } from './servers.ts';

const ACCEPT = { Accept: 'application/openmetrics-text; version=1.0.0' };

/** As often as nobody scrapes: usual are 15 to 60 seconds. */
const INTERVAL_MS = 1000;

const TURNS = 5;

/** Enough for hundredths of a second, in which the kernel counts, not to matter. */
const SCRAPES = 200;

const TARGET = 'a scrape every second beside 64 connections of heartbeats: under 2 % of the processor time';

async function scrapeOnce({ url }: BenchServer): Promise<number> {
  const response = await fetch(`${url}/metrics`, { headers: ACCEPT });
  const { length } = await response.text();
  if (response.status !== 200) throw new Error(`/metrics was answered ${response.status}.`);
  return length;
}

async function loadScraped(bench: BenchRun, server: BenchServer, wish: LoadWish): Promise<Slice> {
  const timer = setInterval(() => void scrapeOnce(server).catch(() => {}), INTERVAL_MS);
  try {
    return await bench.load([server], wish, bench.seconds);
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
    for (let turn = 0; turn < TURNS; turn++) {
      turns.alone.push(await bench.load([server], wish, bench.seconds));
      turns.scraped.push(await loadScraped(bench, server, wish));
    }
    const [alone, scraped] = [joinSlices(turns.alone), joinSlices(turns.scraped)];
    const [perScrape, perRead] = [await measureScrape(server), await measureRead(server)];
    bench.note('scrape: rate beside scrapes, of the rate alone', (scraped.rate / alone.rate).toFixed(3));
    bench.note('scrape: size of a page in kB', ((await scrapeOnce(server)) / 1000).toFixed(0));
    const { cpuMicros } = alone;
    if (perScrape === null || perRead === null || cpuMicros === null) {
      return [{ target: TARGET, measured: 'cannot be read on this system', isMet: null }];
    }
    bench.note('scrape: processor time of a request, of that alone', ratio(scraped.cpuMicros, cpuMicros));
    bench.note(
      'scrape: processor time of a page, and of reading all licenses, in ms',
      ms(perScrape, perRead),
    );
    const share = (perScrape + perRead) / ((alone.rate * cpuMicros) / 1e6);
    return [{ target: TARGET, measured: `${(share * 100).toFixed(2)} %`, isMet: share < 0.02 }];
  },
};

function ratio(micros: number | null, alone: number): string {
  return micros === null ? 'unknown' : (micros / alone).toFixed(3);
}

function ms(...seconds: readonly number[]): string {
  return seconds.map((one) => (one * 1000).toFixed(2)).join(' + ');
}
