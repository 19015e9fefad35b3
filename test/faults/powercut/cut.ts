import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pickOne, type Random } from '../../support/random.ts';
import type { Content } from './content.ts';
import { applyName, type FileChange, type Node } from './disk.ts';

/** What became of the changes that no sync had confirmed: each was kept, torn, or is gone. */
type Verdict = 'kept' | 'torn' | 'gone';
type Judge = () => Verdict;

const SECTOR_BYTES = 512;

/** How a cut treats what was not synced: all alike, in order up to a point, or each on its own. */
const MOODS = ['gone', 'kept', 'in order', 'any', 'any', 'torn'] as const;

/** All but one in which nothing is lost, for the controls. */
export const LOSING = ['gone', 'in order', 'any', 'torn'] as const;

export interface Dice {
  readonly random: Random;
  readonly moods?: readonly (typeof MOODS)[number][];
}

/** A judge of a file or a folder; asked once for each change, in their order. */
function pickJudge({ random, moods = MOODS }: Dice, changes: number): Judge {
  const mood = pickOne(random, moods);
  if (mood === 'gone' || mood === 'kept') return () => mood;
  if (mood === 'any') {
    const share = random();
    return () => (random() < share ? 'kept' : 'gone');
  }
  if (mood === 'torn') return () => pickOne(random, ['kept', 'torn', 'gone']);
  let left = Math.floor(random() * (changes + 1));
  return () => (--left >= 0 ? 'kept' : 'gone');
}

/** Writes the files that a power cut would leave now to a folder. */
export function writeCut(node: Node, folder: string, dice: Dice): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const names = new Map(node.names);
  const judge = pickJudge(dice, node.nameChanges.length);
  for (const change of node.nameChanges) if (judge() !== 'gone') applyName(names, change);
  for (const [name, child] of names) {
    const path = join(folder, name);
    if (child.isFolder) writeCut(child, path, dice);
    else writeFileSync(path, cutFile(child, dice), { mode: 0o600 });
    if (name.endsWith('-wal') && dice.random() < 0.2) writeGarbage(path.replace(/wal$/, 'shm'), dice.random);
  }
}

const SHARED_MEMORY_BYTES = 32_768;

/** Memory that SQLite's connections share has a file, of which a cut may leave anything. */
function writeGarbage(file: string, random: Random): void {
  const bytes = Buffer.from(Array.from({ length: SHARED_MEMORY_BYTES }, () => Math.floor(random() * 256)));
  writeFileSync(file, bytes, { mode: 0o600 });
}

function cutFile({ base, changes }: Node, dice: Dice): Buffer {
  const { random } = dice;
  if (changes.length === 0) return base.bytes;
  const content = base.copy();
  const judge = pickJudge(dice, changes.length);
  // Most often a failed sync has lost all that it should have written.
  const keepsLost = random() < 0.3;
  for (const change of changes) {
    const { fate } = change;
    const verdict = fate === 'synced' ? 'kept' : fate === 'open' ? judge() : keepsLost ? judge() : 'gone';
    if (verdict === 'kept') content.apply(change);
    else if (verdict === 'torn') tear(content, change, random);
  }
  return content.bytes;
}

/** Some sectors of a page reach the disk; `Disk` keeps a write as pages. A new length does, or does not. */
function tear(content: Content, { at, bytes }: FileChange, random: Random): void {
  if (bytes === null) return;
  for (let start = at; start < at + bytes.length; ) {
    const end = Math.min(at + bytes.length, (Math.floor(start / SECTOR_BYTES) + 1) * SECTOR_BYTES);
    if (random() < 0.5) content.apply({ at: start, bytes: bytes.subarray(start - at, end - at) });
    start = end;
  }
}
