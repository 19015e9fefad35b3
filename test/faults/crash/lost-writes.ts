import { createRandom, pickNumber } from '../../support/random.ts';
import { seedLicenses } from '../../support/server-process.ts';
import { ServerUnderTest } from '../../support/server-under-test.ts';
import { testLicense } from '../../support/test-license.ts';
import type { Control, Life, Order } from '../door/fault.ts';
import { LendingRounds } from './lending-rounds.ts';
import { underStrace } from './under-strace.ts';

/** A start writes less. */
const FIRST_LOST = { from: 100, to: 160 };
const ROUNDS = 60;

/** No write of SQLite is longer, and it takes a longer answer for all of its bytes. */
const PAGE_BYTES = 4096;

/** From some write on, none arrives, and each is answered as if it had. */
async function loseWrites(life: Life, first: number, seed: number): Promise<readonly string[]> {
  const server = ServerUnderTest.make(life);
  await seedLicenses(server.data, [testLicense(1, { slots: 5 })]);
  const rounds = new LendingRounds(server, { licenseIds: [1], seed, trustsUnavailable: false });
  await server.start({ under: underStrace('pwrite64', `retval=${PAGE_BYTES}:when=${first}+`) });
  for (let round = 0; round < ROUNDS; round++) await rounds.run();
  await server.stop('SIGKILL');
  await server.start();
  await rounds.inspect();
  await server.stop();
  return rounds.book.violations;
}

async function loseAgainAndAgain({ count, seed, life, say }: Order) {
  const random = createRandom(seed);
  let found = 0;
  for (let done = 0; done < count; done++) {
    const [violation] = await loseWrites(life, pickNumber(random, FIRST_LOST), seed + done);
    if (violation !== undefined) found += 1;
    say(violation ?? 'nothing was found');
  }
  return { count, found };
}

export const lostWrites: Control = {
  name: 'writes succeed, and store nothing',
  sizes: { small: 1, full: 10 },
  leastShare: 0.7,
  run: loseAgainAndAgain,
};
