import { Client, type ClientOptions } from '../../../packages/client/src/client.ts';
import { createRandom } from '../../support/random.ts';
import { waitForCryptography } from '../simulation/cryptography.ts';
import { Machine } from '../simulation/machine.ts';
import { World } from '../simulation/world.ts';
import { CertifiedServer, createVendor } from './certified-server.ts';

const VENDOR = createVendor();

/** An application with the vendor's key, and a server. */
export function openSite(options: Partial<ClientOptions> = {}) {
  const world = new World();
  const server = new CertifiedServer(world, VENDOR);
  const machine = new Machine(world, {
    name: 'ws-7',
    random: createRandom(1),
    network: (request, done) => done(server.answer(request)),
  });
  const make = (more: Partial<ClientOptions> = {}) => {
    const given = { server: 'http://berth.test', product: 'cad', user: 'Ada', vendorKey: VENDOR.pem };
    return new Client(machine.environment, { ...given, ...options, ...more });
  };
  waitForCryptography(world);
  const pass = (seconds: number) => world.run(world.nowMs + seconds * 1000);
  return { world, server, machine, make, pass };
}

// biome-ignore lint/suspicious/noExplicitAny: what is stored is of no concern to anybody else.
export async function changeBorrow(machine: Machine, edit: (record: any) => unknown): Promise<void> {
  const { storage } = machine.environment;
  const record = JSON.parse((await storage.read('borrow@cad@')) as string);
  await storage.write('borrow@cad@', JSON.stringify(edit(record)));
}
