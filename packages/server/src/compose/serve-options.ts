import type { Config } from '../config.ts';
import type { World } from './world.ts';

export interface ServeOptions {
  readonly config: Config;
  readonly warnings: readonly string[];
  readonly demo: boolean;
  /** Called once the port is bound: the demo cloud may add settings. */
  readonly completeConfig: (config: Config) => Promise<Config>;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Shown once to the person who starts the server, never logged. */
  readonly announce: (text: string) => void;
  /** Rewrites commands in log lines for people as they type them. */
  readonly rewrite?: (text: string) => string;
  /** Called when the store is lost: nothing can be acknowledged any more. */
  readonly onLost: () => void;
  readonly world?: World;
}

/** What to do when there may be new events. */
export interface News {
  tell: () => void;
}

export type Stop = () => Promise<void>;
