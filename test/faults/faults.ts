import { bitrot } from './bitrot/bitrot.ts';
import { kill } from './crash/kill-storm.ts';
import type { Fault } from './door/fault.ts';

/** Everything that `npm run faults` does, and `docs/reliability.md` tells. */
export const FAULTS: readonly Fault[] = [kill, bitrot];
