import { checkAndRemove, type State } from './check-state.ts';

/** A process that checks one state after the other. */
process.on('message', async (state: State) => process.send?.(await checkAndRemove(state)));
