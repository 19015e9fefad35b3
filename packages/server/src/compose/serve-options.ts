import type { Cloud } from '../cloud/cloud.ts';
import type { Config } from '../config.ts';
import type { Route } from '../http/route.ts';
import type { Machine } from '../services/access/own-names.ts';
import type { MakeBackup } from '../services/backups/backup-job.ts';
import type { RunTask } from '../services/tasks/task.ts';
import type { Clock } from '../store/clock.ts';

export interface ServeOptions {
  readonly config: Config;
  readonly warnings: readonly string[];
  readonly demo: boolean;
  /** The store is one for tests, which move the time. */
  readonly testClock?: boolean;
  /** Called once the port is bound: the demo cloud may add settings. */
  readonly completeConfig: (config: Config) => Promise<Config>;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Shown once to the person who starts the server, never logged. */
  readonly announce: (text: string) => void;
  /** Rewrites commands in log lines for people as they type them. */
  readonly rewrite?: (text: string) => string;
  /** Called when the store is lost: nothing can be acknowledged any more. */
  readonly onLost: () => void;
  readonly environment?: ServerEnvironment;
}

/** What to do when there may be new events. */
export interface EventSignal {
  notify: () => void;
}

export type Stop = () => Promise<void>;

/** The environment of a server. Tests provide their own. */
export interface ServerEnvironment {
  readonly version: string;
  readonly clock: Clock;
  /** Replaces the cloud in the settings. */
  readonly cloud?: Cloud | undefined;
  /** Of scrypt. */
  readonly passwordCost?: number;
  readonly machine?: Machine | undefined;
  /** Instead of a thread. */
  readonly makeBackup?: MakeBackup | undefined;
  /** Instead of threads. */
  readonly runTask?: RunTask | undefined;
  /** Additional routes. */
  readonly routes?: readonly Route[];
}
