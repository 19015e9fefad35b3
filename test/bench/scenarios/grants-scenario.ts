import { RENEWALS_PER_GRANT } from '../../../packages/client/src/proof/proven-lease.ts';
import { PRODUCTS } from '../bench-licenses.ts';
import { type Contested, HEARTBEATS, judgeRate } from '../bench-run.ts';
import { registerPlan, withNonce } from '../requests.ts';
import type { Scenario, Verdict } from '../scenarios.ts';

const TURNS = 20;

/** As the client does it: one of so many renewals asks for a grant. */
export const grants: Scenario = {
  name: 'grants',
  about: 'renewals of which some ask for a signed grant, as often as the SDK does, by turns with none',
  async run(bench): Promise<readonly Verdict[]> {
    const servers = [await bench.berth()];
    const plain = registerPlan(PRODUCTS.certified);
    // Both lists are as long, so that the load generator does the same for either.
    const none = Array.from({ length: RENEWALS_PER_GRANT }, () => plain);
    const some = [withNonce(plain), ...none.slice(1)];
    const wish = { connections: 64, users: HEARTBEATS.users, isStaggered: true };
    const label = `heartbeat, 1 of ${RENEWALS_PER_GRANT} asks for a grant`;
    const [signed, unsigned] = (await bench.takeTurns(
      [
        { servers, wish: { ...wish, label, requests: some } },
        { servers, wish: { ...wish, label: 'heartbeat, none asks for a grant', requests: none } },
      ],
      { turns: TURNS, seconds: Math.max(0.5, bench.seconds / 6) },
    )) as [Contested, Contested];
    return [judgeRate('heartbeat with grants: at least 0.95 × the rate without', signed, unsigned, 0.95)];
  },
};
