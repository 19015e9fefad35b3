import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

/** A license for a data folder, in words that every version of Berth understands. */
export interface SeedWish {
  readonly id: number;
  readonly product: string;
  readonly slots: number;
  readonly held: number;
  readonly isCounting: boolean;
}

/** What the benchmark of that version calls these; they have had these names since the first one. */
interface SeedStore {
  seedFolder(data: string, seeds: readonly { license: unknown; held: number }[]): Promise<void>;
}

interface BenchLicenses {
  benchLicense(id: number, product: string, slots: number): unknown;
  countingLicense(id: number): unknown;
}

function load(clone: string, file: string): Promise<unknown> {
  return import(pathToFileURL(join(clone, 'test', 'bench', file)).href);
}

/** A process of its own: fills a data folder with the code of another clone, whose tables may be older. */
async function main(clone: string, data: string, wishes: readonly SeedWish[]): Promise<void> {
  const { seedFolder } = (await load(clone, 'seed-store.ts')) as SeedStore;
  const { benchLicense, countingLicense } = (await load(clone, 'bench-licenses.ts')) as BenchLicenses;
  const seeds = wishes.map(({ id, product, slots, held, isCounting }) => {
    return { license: isCounting ? countingLicense(id) : benchLicense(id, product, slots), held };
  });
  await seedFolder(data, seeds);
}

if (import.meta.main) {
  const [, , clone, data, wishes] = process.argv as [string, string, string, string, string];
  await main(clone, data, JSON.parse(wishes));
}
