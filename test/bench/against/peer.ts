import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { SEEDS } from '../bench-licenses.ts';
import type { BenchRun } from '../bench-run.ts';
import { addressOf, type BenchServer, startBerthIn } from '../servers.ts';
import { findListener } from './find-listener.ts';
import type { SeedWish } from './seed-checkout.ts';

const LOCAL_HOSTS = ['127.0.0.1', 'localhost'];

const KINDS = ['checkout', 'berth', 'relay'] as const;

/** What the server of this checkout is compared with, as `--against` names it. */
export interface PeerWish {
  readonly kind: (typeof KINDS)[number];
  /** A folder, or the address of a server that runs. */
  readonly place: string;
}

/** The clone that this benchmark belongs to. */
export const THIS_CHECKOUT: PeerWish = {
  kind: 'checkout',
  place: fileURLToPath(new URL('../../..', import.meta.url)),
};

export function readPeerWish(text: string): PeerWish {
  const [, kind, place] = /^(\w+)=(.+)$/.exec(text) ?? [];
  const known = KINDS.find((one) => one === kind);
  if (known === undefined || place === undefined)
    throw new Error('--against takes checkout=FOLDER, berth=URL or relay=URL.');
  if (known !== 'checkout' && !/^http:\/\/[^/:]+:\d+\/?$/.test(place))
    throw new Error(`--against ${known}= takes an address such as http://127.0.0.1:8080.`);
  return { kind: known, place };
}

/** The same licenses and holders that this checkout's own server has. */
const WISHES: readonly SeedWish[] = SEEDS.map(({ license, held }) => ({
  id: license.id,
  product: license.product,
  slots: license.slots,
  held,
  isCounting: license.type === 'consumption' && license.consumption.unlimited,
}));

const SEEDER = fileURLToPath(new URL('./seed-checkout.ts', import.meta.url));

function seedCheckout(clone: string, data: string): void {
  for (const file of ['berth', 'node_modules', join('test', 'bench', 'seed-store.ts')]) {
    if (!existsSync(join(clone, file)))
      throw new Error(`${clone} has no ${file}: it must be a clone of Berth in which "npm ci" has run.`);
  }
  execFileSync(process.execPath, [SEEDER, clone, data, JSON.stringify(WISHES)], { stdio: 'inherit' });
}

/** Started from another clone, with data that its own code has written; or found where it runs. */
export async function findPeer(bench: BenchRun, { kind, place }: PeerWish): Promise<BenchServer> {
  if (kind !== 'checkout') {
    const address = addressOf(place);
    const pid = LOCAL_HOSTS.includes(address.host) ? findListener(address.port) : null;
    return { url: place, ...address, pid, stop: async () => {} };
  }
  const clone = resolve(place);
  const data = bench.makeFolder();
  seedCheckout(clone, data);
  return bench.keep(await startBerthIn(clone, data));
}
