import { globSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** `clients/scenarios/README.md` says what each step means. */
export type Step = Readonly<Record<string, unknown>> &
  ({ readonly do: string } | { readonly expect: string }) & { readonly client?: string };

export interface ClientFacts {
  readonly user?: string | null;
  readonly machine?: string;
  readonly servers?: readonly string[];
  readonly device?: string;
  readonly renew_every?: string;
}

export interface Scenario {
  readonly name: string;
  readonly title: string;
  readonly license: { readonly slots: number; readonly timeout_minutes: number };
  readonly servers: readonly string[];
  /** Which of them share a database; by default, all. */
  readonly stores?: readonly (readonly string[])[];
  /** Those that have no public id of their store. */
  readonly without_id?: readonly string[];
  /** Whether the clients have the vendor's key. */
  readonly proof?: boolean;
  /** What the certificate says instead of the truth. */
  readonly certified?: Readonly<Record<string, unknown>>;
  readonly certificate_days?: number;
  readonly clients?: Readonly<Record<string, ClientFacts>>;
  readonly steps: readonly Step[];
}

const FOLDER = fileURLToPath(new URL('../../../clients/scenarios', import.meta.url));

export function readScenarios(): readonly Scenario[] {
  return globSync('*.json', { cwd: FOLDER })
    .sort()
    .map((file) => ({
      name: basename(file, '.json'),
      ...JSON.parse(readFileSync(join(FOLDER, file), 'utf8')),
    }));
}

/** There are fewer things that a step writes, removes or sends. */
const MAX_KILLS = 200;

/**
 * Plays a scenario, and one with a kill once for every point at which the program can be killed. `play` says
 * whether it came to that.
 */
export async function playEvery(
  { steps }: Scenario,
  play: (killAt: number | null) => Promise<boolean>,
): Promise<void> {
  if (!steps.some(({ kill }) => kill === true)) {
    await play(null);
    return;
  }
  for (let killAt = 0; await play(killAt); killAt++) {
    if (killAt === MAX_KILLS) throw new Error('The step with "kill" does not end.');
  }
}
