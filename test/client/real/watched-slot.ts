import { Client } from '../../../packages/client/src/client.ts';
import { createNodeEnvironment } from '../../../packages/client/src/node/node-environment.ts';
import { createRandom } from '../../support/random.ts';
import { Machine } from '../simulation/machine.ts';
import { World } from '../simulation/world.ts';

const EVENTS = ['unreachable', 'reachable', 'denied', 'lost', 'restored'] as const;

/**
 * A slot of "ada" on a machine whose time is simulated: it passes without waiting. Its requests are real.
 * `find` tells where a server is at the moment, by the name in its address.
 */
export async function watchSlot(names: readonly string[], find: (name: string) => string) {
  const real = createNodeEnvironment();
  const world = new World();
  const machine = new Machine(world, {
    name: 'ws-7',
    random: createRandom(1),
    network: (request, done) => {
      const { hostname, pathname } = new URL(request.url);
      world.wait(real.send({ ...request, url: find(hostname) + pathname }).then(done, done));
    },
  });
  const server = names.map((name) => `http://${name}`);
  const acquiring = new Client(machine.environment, { server, product: 'cad', user: 'ada' }).acquire();
  await world.run(1);
  const slot = await acquiring;
  const events: string[] = [];
  for (const name of EVENTS) slot.on(name, () => events.push(name));
  return {
    slot,
    /** The events while the time passes. */
    async pass(seconds: number): Promise<readonly string[]> {
      await world.run(world.nowMs + seconds * 1000);
      return events.splice(0);
    },
  };
}
