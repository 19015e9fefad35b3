import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { BackupError } from '@berth/shell/files/backup-file';
import { restore } from '../../support/backups.ts';
import { createRandom, pickNumber, type Random } from '../../support/random.ts';

/** Cuts a backup off or changes it, again and again: each must be refused, and nothing may change. */
interface AlterOptions {
  readonly folder: string;
  readonly data: string;
  readonly backup: string;
  readonly places: number;
  readonly seed: number;
}

export async function runAlteredBackups(options: AlterOptions): Promise<readonly string[]> {
  const { data, places } = options;
  const random = createRandom(options.seed);
  const whole = readFileSync(options.backup);
  const before = describeFolder(data);
  const altered = join(options.folder, 'altered.backup');
  const violations: string[] = [];
  for (let number = 0; number < places; number++) {
    const { bytes, what } = alter(whole, random);
    writeFileSync(altered, bytes);
    const problem = await restore(data, altered).then(
      () => 'was restored',
      (error: unknown) => (error instanceof BackupError ? null : `failed otherwise: ${error}`),
    );
    if (problem !== null) violations.push(`${what}: ${problem}`);
  }
  const after = describeFolder(data);
  const changed = [...new Set([...before.keys(), ...after.keys()])].filter(
    (name) => before.get(name) !== after.get(name),
  );
  if (changed.length > 0) violations.push(`the data was changed: ${changed.join(', ')}`);
  return violations;
}

/** A third each: cut off, one bit changed, a part overwritten. Half of them are near the end. */
function alter(whole: Buffer, random: Random): { readonly bytes: Buffer; readonly what: string } {
  const from = random() < 0.5 ? 0 : whole.length - 1000;
  const at = pickNumber(random, { from: Math.max(0, from), to: whole.length - 1 });
  const way = pickNumber(random, { from: 0, to: 2 });
  if (way === 0) return { bytes: whole.subarray(0, at), what: `cut off at ${at}` };
  const bytes = Buffer.from(whole);
  const end = way === 1 ? at + 1 : Math.min(whole.length, at + 16);
  const bit = 1 << pickNumber(random, { from: 0, to: 7 });
  for (let place = at; place < end; place++) bytes[place] = (bytes[place] as number) ^ bit;
  return { bytes, what: `${end - at} bytes changed at ${at}` };
}

/** It says who uses the folder, which the restore itself does for a moment. */
const HOLDER = 'berth.pid';

function describeFolder(folder: string): ReadonlyMap<string, string> {
  const digest = (name: string) =>
    createHash('sha256')
      .update(readFileSync(join(folder, name)))
      .digest('hex');
  const names = readdirSync(folder).filter((name) => name !== HOLDER);
  return new Map(names.map((name) => [name, digest(name)]));
}
