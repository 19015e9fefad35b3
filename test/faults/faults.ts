import { backup, backupPostgres } from './backup/backup-faults.ts';
import { bitrot } from './bitrot/bitrot.ts';
import { cloudMitm } from './cloud-mitm/cloud-mitm.ts';
import { count } from './crash/count-storm.ts';
import { disk } from './crash/disk-errors.ts';
import { kill } from './crash/kill-storm.ts';
import type { Fault } from './door/fault.ts';
import { fleetClocks } from './fleet/clocks.ts';
import { database } from './fleet/database-storm.ts';
import { fleet } from './fleet/fleet-storm.ts';
import { pauseFleet } from './fleet/stopped-server.ts';
import { takeover } from './fleet/takeover.ts';
import { herd } from './herd/herd.ts';
import { LINE_FAULTS } from './line/line-storm.ts';
import { planted } from './planted/planted.ts';
import { powercut } from './powercut/powercut.ts';
import { soak } from './soak/soak.ts';
import { standby } from './standby/standby-storm.ts';
import { SUITE_FAULTS } from './suite-faults.ts';
import { clock } from './time/clock.ts';
import { pause } from './time/pause.ts';

/** Everything that `npm run faults` does, and `docs/reliability.md` tells. */
export const FAULTS: readonly Fault[] = [
  powercut,
  kill,
  bitrot,
  standby,
  count,
  disk,
  pause,
  pauseFleet,
  clock,
  fleetClocks,
  database,
  fleet,
  takeover,
  backup,
  backupPostgres,
  cloudMitm,
  herd,
  ...LINE_FAULTS,
  ...SUITE_FAULTS,
  soak,
  planted,
];
