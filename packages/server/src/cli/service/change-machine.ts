import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { cannot } from '../files.ts';
import { InputError } from '../read-secrets.ts';
import type { ServiceFile, ServicePlan, ServiceStep } from './service-manager.ts';

const BYTE_ORDER_MARK = '\ufeff';

/** Carries out a plan, and stops at the first problem. It can be repeated. */
export function applyPlan({ before, written, removed, after }: ServicePlan): void {
  for (const step of before) runStep(step);
  for (const file of written) writeServiceFile(file);
  for (const path of removed) rmSync(path, { force: true });
  for (const step of after) runStep(step);
}

/** Whether the files of a plan are already there with the same content. */
export function isWritten(files: readonly ServiceFile[]): boolean {
  return files.every((file) => existsSync(file.path) && readFileSync(file.path).equals(encode(file)));
}

/** What a command prints; `null` if it fails. */
export function readOutput([file = '', ...args]: readonly string[]): string | null {
  const { status, stdout } = spawnSync(file, args, { encoding: 'utf8' });
  return status === 0 ? stdout : null;
}

export function sayStep({ words, unless }: ServiceStep): string {
  const quoted = words.map((word) => (/[\s()*]/.test(word) ? `"${word}"` : word)).join(' ');
  return unless === undefined ? quoted : `${quoted}   (unless "${unless.join(' ')}" succeeds)`;
}

function runStep(step: ServiceStep): void {
  const { words, unless, mayFail = false } = step;
  if (unless !== undefined && readOutput(unless) !== null) return;
  const [file = '', ...args] = words;
  const { status, stderr, error } = spawnSync(file, args, { encoding: 'utf8' });
  if (status === 0 || mayFail) return;
  const reason = error?.message ?? (stderr.trim() || `exit status ${status}`);
  throw new InputError(`"${words.join(' ')}" failed: ${reason}\nFix this, and run the command again.`);
}

function writeServiceFile(file: ServiceFile): void {
  try {
    mkdirSync(dirname(file.path), { recursive: true });
    writeFileSync(file.path, encode(file));
  } catch (error) {
    cannot('written', file.path)(error);
  }
}

/** Windows recognizes UTF-16 by its mark. */
function encode({ text, encoding }: ServiceFile): Buffer {
  return encoding === undefined ? Buffer.from(text) : Buffer.from(`${BYTE_ORDER_MARK}${text}`, encoding);
}
