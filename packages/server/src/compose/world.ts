import type { Cloud } from '../cloud/cloud.ts';
import type { Route } from '../http/route.ts';
import type { Machine } from '../services/access/own-names.ts';
import type { MakeBackup } from '../services/backups/backup-job.ts';
import type { Clock } from '../store/clock.ts';

/** The environment of a server. Tests provide their own. */
export interface World {
  readonly version: string;
  readonly clock: Clock;
  /** Replaces the cloud in the settings. */
  readonly cloud?: Cloud | undefined;
  /** Of scrypt. */
  readonly passwordCost?: number;
  readonly machine?: Machine | undefined;
  /** Instead of a thread. */
  readonly makeBackup?: MakeBackup | undefined;
  /** Additional routes. */
  readonly routes?: readonly Route[];
}
