import { rmSync } from 'node:fs';
import { checkState, type State } from './check-state.ts';

/** A process that checks one state after the other, and removes them. */
process.on('message', async (state: State) => {
  const startedMs = performance.now();
  const wrong = await checkState(state);
  rmSync(state.root, { recursive: true, force: true });
  const megabytes = process.memoryUsage.rss() / 2 ** 20;
  process.send?.({ wrong, ms: performance.now() - startedMs, megabytes });
});
