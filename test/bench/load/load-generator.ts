import type { LoadPlan } from './load-plan.ts';
import { LoadRun } from './load-run.ts';

/** The process that makes the load: neither it nor the server waits for the other's event loop. */
process.on('message', async (plan: LoadPlan) => {
  try {
    process.send?.({ result: await new LoadRun(plan).run() });
  } catch (error) {
    process.send?.({ error: String(error) });
  }
});
process.on('disconnect', () => process.exit());
