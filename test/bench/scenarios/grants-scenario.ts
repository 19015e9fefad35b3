import { RENEWALS_PER_GRANT } from '../../../packages/client/src/lending/proven-lease.ts';
import { PRODUCTS } from '../bench-licenses.ts';
import { type Contested, cpuRatio, HEARTBEATS, rateRatio, showMiddle } from '../bench-run.ts';
import { registerPlan, withNonce } from '../requests.ts';
import type { Scenario, Verdict } from '../scenarios.ts';

const TURNS = 20;

/** So often that the cost of a grant shows clearly; as seldom as the client asks, it is lost in the noise. */
const RENEWALS_PER_FREQUENT_GRANT = 8;

const MAX_COST = 0.05;
const TARGET = `grants, 1 for ${RENEWALS_PER_GRANT} heartbeats: at most ${MAX_COST * 100} % of their cost`;

export const grants: Scenario = {
  name: 'grants',
  about: 'renewals of which some ask for a signed grant, as often as the SDK does, by turns with none',
  async run(bench): Promise<readonly Verdict[]> {
    const servers = [await bench.berth()];
    const plain = registerPlan(PRODUCTS.certified);
    // All lists are as long, so that the load generator does the same for each.
    const none = Array.from({ length: RENEWALS_PER_GRANT }, () => plain);
    const oneIn = (share: number) => none.map((_, index) => (index % share === 0 ? withNonce(plain) : plain));
    const contender = (asks: string, requests: typeof none) => {
      const wish = { connections: 64, users: HEARTBEATS.users, isStaggered: true };
      return { servers, wish: { ...wish, label: `heartbeat, ${asks} asks for a grant`, requests } };
    };
    const [frequent, usual, unsigned] = (await bench.takeTurns(
      [
        contender(`1 of ${RENEWALS_PER_FREQUENT_GRANT}`, oneIn(RENEWALS_PER_FREQUENT_GRANT)),
        contender(`1 of ${RENEWALS_PER_GRANT}`, oneIn(RENEWALS_PER_GRANT)),
        contender('none', none),
      ],
      { turns: TURNS, seconds: Math.max(0.5, bench.seconds / 6) },
    )) as [Contested, Contested, Contested];
    return [judge(frequent, usual, unsigned)];
  },
};

function judge(frequent: Contested, usual: Contested, unsigned: Contested): Verdict {
  const cost = cpuRatio(frequent, unsigned) ?? 1 / rateRatio(frequent, unsigned).middle;
  const inHeartbeats = (cost - 1) * RENEWALS_PER_FREQUENT_GRANT;
  const share = inHeartbeats / RENEWALS_PER_GRANT;
  const rate = showMiddle(rateRatio(usual, unsigned));
  return {
    target: TARGET,
    measured: `${(share * 100).toFixed(1)} %: a grant costs ${inHeartbeats.toFixed(1)} more; rate ${rate}`,
    isMet: share <= MAX_COST,
  };
}
