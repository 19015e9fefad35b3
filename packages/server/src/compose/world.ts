import type { Cloud } from '../cloud/cloud.ts';
import type { Route } from '../http/route.ts';
import type { Machine } from '../services/access/own-names.ts';
import type { Clock } from '../store/clock.ts';

/** What a server finds around it. Tests bring their own. */
export interface World {
  readonly version: string;
  readonly clock: Clock;
  /** Stands in for the cloud in the settings. */
  readonly cloud?: Cloud | undefined;
  /** Of scrypt. */
  readonly passwordCost?: number;
  readonly machine?: Machine | undefined;
  /** Routes beside those of the server. */
  readonly routes?: readonly Route[];
}
