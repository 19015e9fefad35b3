import { globSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** `clients/scenarios/README.md` says what each step means. */
export type Step = Readonly<Record<string, unknown>> &
  ({ readonly do: string } | { readonly expect: string }) & { readonly client?: string };

export interface Scenario {
  readonly name: string;
  readonly title: string;
  readonly license: { readonly slots: number; readonly timeout_minutes: number };
  readonly servers: readonly string[];
  /** Whether the clients have the vendor's key. */
  readonly proof?: boolean;
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
