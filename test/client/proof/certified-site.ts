import { Client, type ClientOptions } from '../../../packages/client/src/client.ts';
import { NotSentError } from '../../../packages/client/src/environment.ts';
import { createRandom } from '../../support/random.ts';
import { waitForCryptography } from '../simulation/cryptography.ts';
import { Machine } from '../simulation/machine.ts';
import { World } from '../simulation/world.ts';
import { CertifiedServer, createVendor, STORE_ID } from './certified-server.ts';

const VENDOR = createVendor('vendor');

/** An application with the vendor's key, and a server. */
export function openSite(options: Partial<ClientOptions> = {}) {
  const world = new World();
  const server = new CertifiedServer(world, VENDOR);
  const machine = new Machine(world, {
    name: 'ws-7',
    random: createRandom(1),
    network: (request, done) => done(server.isAway ? new NotSentError('away') : server.answer(request)),
  });
  const make = (more: Partial<ClientOptions> = {}) => {
    const given = { server: 'http://berth.test', product: 'cad', user: 'Ada', vendorKey: VENDOR.pem };
    return new Client(machine.environment, { ...given, ...options, ...more });
  };
  waitForCryptography(world);
  const pass = (seconds: number) => world.run(world.nowMs + seconds * 1000);
  return { world, server, machine, make, pass };
}

/** The stored name of a borrow. */
export function nameOf(user: string, product = 'cad'): string {
  const encoded = user.replace(/[^a-z0-9._-]/g, (letter) => `%${letter.charCodeAt(0).toString(16)}`);
  return `borrow@${product}@${STORE_ID}@${encoded}`;
}

// biome-ignore lint/suspicious/noExplicitAny: what is stored is of no concern to anybody else.
export async function changeBorrow(machine: Machine, edit: (record: any) => unknown, user = 'Ada') {
  const { storage } = machine.environment;
  const record = JSON.parse((await storage.read(nameOf(user))) as string);
  await storage.write(nameOf(user), JSON.stringify(edit(record)));
}
