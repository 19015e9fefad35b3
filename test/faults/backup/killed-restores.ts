import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { runBerth } from '../../support/berth-command.ts';
import { BERTH } from '../../support/program.ts';

/** Kills a restore at its Nth system call that changes something, and looks at what is there. */
export interface KillOptions {
  readonly folder: string;
  /** The data of a stopped server that is to be replaced. */
  readonly data: string;
  readonly backup: string;
  readonly points: number;
  /** Says which data a folder has by the users that hold slots in it. */
  readonly users: { readonly old: string; readonly new: string };
}

export interface KillReport {
  readonly points: number;
  readonly old: number;
  readonly new: number;
  readonly violations: readonly string[];
}

const CALLS = ['rename', 'link', 'unlink', 'fsync', 'fdatasync', 'pwrite64', 'ftruncate'] as const;

interface Point {
  readonly call: (typeof CALLS)[number];
  readonly number: number;
}

export async function runKilledRestores(options: KillOptions): Promise<KillReport> {
  const target = join(options.folder, 'killed');
  const found = { old: 0, new: 0 };
  const violations: string[] = [];
  const points = choosePoints(await listPoints(options, target), options.points);
  const whole = await judge(target, options);
  if (whole !== 'new') violations.push(`after a restore that nobody killed: ${whole}`);
  for (const point of points) {
    const log = join(options.folder, 'strace.log');
    await restoreUnder(options, target, inject(point, log));
    const state = await judge(target, options);
    if (state === 'old' || state === 'new') found[state] += 1;
    else violations.push(`killed at ${point.call} ${point.number}: ${state}`);
  }
  rmSync(target, { recursive: true, force: true });
  return { points: points.length, ...found, violations };
}

/** Every rename and every link, and others evenly. */
function choosePoints(all: readonly Point[], most: number): readonly Point[] {
  const isName = ({ call }: Point) => call === 'rename' || call === 'link';
  const names = all.filter(isName).slice(0, most);
  const others = all.filter((point) => !isName(point));
  const wanted = Math.min(most - names.length, others.length);
  const step = others.length / Math.max(1, wanted);
  return [
    ...names,
    ...Array.from({ length: wanted }, (_, index) => others[Math.floor(index * step)] as Point),
  ];
}

/** What a whole restore does. */
async function listPoints(options: KillOptions, target: string): Promise<readonly Point[]> {
  const log = join(options.folder, 'strace.log');
  await restoreUnder(options, target, ['-o', log, '-e', `trace=${CALLS.join(',')}`]);
  const lines = readFileSync(log, 'utf8').split('\n');
  return CALLS.flatMap((call) => {
    const count = lines.filter((line) => line.includes(` ${call}(`)).length;
    return Array.from({ length: count }, (_, index) => ({ call, number: index + 1 }));
  });
}

function inject({ call, number }: Point, log: string): readonly string[] {
  return ['-o', log, '-e', `trace=${call}`, '-e', `inject=${call}:signal=KILL:when=${number}`];
}

async function restoreUnder(
  { data, backup }: KillOptions,
  target: string,
  words: readonly string[],
): Promise<void> {
  rmSync(target, { recursive: true, force: true });
  cpSync(data, target, { recursive: true });
  const command = [BERTH.file, ...BERTH.args, 'restore', backup, '--data', target];
  const child = spawn('strace', ['-f', '-qq', ...words, ...command], { stdio: 'ignore' });
  await once(child, 'exit');
}

/** Which data is there: all of the old, or all of the new. */
async function judge(target: string, { users }: KillOptions): Promise<string> {
  const { code, stdout, stderr } = await runBerth(target, ['audit', 'verify']);
  if (code !== 0) return `${stdout}${stderr}`;
  const db = new DatabaseSync(join(target, 'berth.db'));
  try {
    const check = db.prepare('PRAGMA integrity_check').get()?.integrity_check;
    if (check !== 'ok') return `damaged: ${check}`;
    const text = "SELECT group_concat(user, ',' ORDER BY user) AS users FROM registration";
    const found = String(db.prepare(text).get()?.users);
    if (found === users.old) return 'old';
    return found === users.new ? 'new' : `neither old nor new: ${found}`;
  } finally {
    db.close();
  }
}
