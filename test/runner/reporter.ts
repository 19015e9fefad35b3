import type { AssertionError } from 'node:assert';
import { relative } from 'node:path';
import type { TestEvent } from 'node:test/reporters';
import { inspect } from 'node:util';
import { formatCounts, type Kind, type Ledger, type Outcome } from './ledger.ts';

interface FileReport {
  counts: Record<Kind, number>;
  output: string;
}

/** Most stacks contain the diff; an assertion with its own message hides the compared values. */
function hidesValues(error: AssertionError): boolean {
  return !error.generatedMessage && (error.actual !== undefined || error.expected !== undefined);
}

function isAssertion(error: unknown): error is AssertionError {
  return error instanceof Error && 'generatedMessage' in error;
}

function formatError(error: unknown): string {
  if (isAssertion(error) && error.stack && !hidesValues(error)) return error.stack;
  return typeof error === 'string' ? error : inspect(error, { depth: 8, maxStringLength: null });
}

function indent(text: string): string {
  return text.trimEnd().replace(/^(?=.)/gm, '    ');
}

function relativePlace(place: string): string {
  return relative(process.cwd(), place);
}

export function formatFailure(outcome: Outcome): string {
  const text = outcome.reason ?? formatError(outcome.error);
  return `FAIL ${outcome.name}\n    at ${relativePlace(outcome.place)}\n${indent(text)}\n`;
}

function formatOutcome(outcome: Outcome): string {
  if (outcome.kind === 'failed') return formatFailure(outcome);
  return outcome.kind === 'skipped' ? `skip ${outcome.name}: ${outcome.reason}\n` : '';
}

function formatSeconds(milliseconds: number): string {
  return `(${(milliseconds / 1000).toFixed(1)} s)`;
}

/** What there is to say about a failed file after its failures. */
function formatFile(file: string, { counts, output }: FileReport, milliseconds: number): string {
  if (counts.failed === 0) return '';
  const line = `FAIL ${relativePlace(file)}: ${formatCounts(counts)} ${formatSeconds(milliseconds)}\n`;
  return output === '' ? line : `${line}     printed:\n${indent(output)}\n`;
}

/** How many files have ended, of how many. */
interface Progress {
  ended: number;
  readonly total: number;
}

/** A file that has ended just now. */
function formatProgress(event: TestEvent, progress: Progress): string {
  if (event.type !== 'test:complete' || event.data.entryFile !== event.data.name) return '';
  const { name, details } = event.data;
  const total = String(progress.total);
  const ended = String(++progress.ended).padStart(total.length);
  const mark = details.passed ? 'ok  ' : 'FAIL';
  return `[${ended}/${total}] ${mark} ${relativePlace(name)} ${formatSeconds(details.duration_ms)}\n`;
}

class FileReports {
  readonly #reports = new Map<string, FileReport>();

  of(file: string): FileReport {
    const known = this.#reports.get(file) ?? { counts: { passed: 0, failed: 0, skipped: 0 }, output: '' };
    this.#reports.set(file, known);
    return known;
  }
}

function formatEnd(event: TestEvent, reports: FileReports): string {
  if (event.type === 'test:summary' && event.data.file) {
    return formatFile(event.data.file, reports.of(event.data.file), event.data.duration_ms);
  }
  const isFile = event.type === 'test:fail' && event.data.entryFile === undefined && event.data.file;
  return isFile ? formatFile(isFile, reports.of(isFile), event.data.details.duration_ms) : '';
}

/** `Error:` tells of an error after the end of its test, for which the whole file fails. */
const TOLD = /^(?:seed|skip|Error:)/;

function formatDiagnostic(event: TestEvent): string {
  if (event.type !== 'test:diagnostic' || event.data.entryFile === undefined) return '';
  if (!TOLD.test(event.data.message)) return '';
  return `note ${relativePlace(event.data.entryFile)}: ${event.data.message}\n`;
}

function keepOutput(event: TestEvent, reports: FileReports): void {
  if (event.type !== 'test:stdout' && event.type !== 'test:stderr') return;
  reports.of(event.data.file).output += event.data.message;
}

function countOutcome(event: TestEvent, outcome: Outcome | undefined, reports: FileReports): void {
  if (outcome === undefined || (event.type !== 'test:pass' && event.type !== 'test:fail')) return;
  const file = event.data.entryFile ?? event.data.file;
  if (file) reports.of(file).counts[outcome.kind]++;
}

/**
 * One line per file as soon as it has ended. Details, only of failures, skips and seeds, follow in the order
 * of the files: the runner keeps those of a file until all before it have ended.
 */
export async function* reportCompactly(
  events: AsyncIterable<TestEvent>,
  ledger: Ledger,
  total: number,
): AsyncGenerator<string> {
  const reports = new FileReports();
  const progress: Progress = { ended: 0, total };
  for await (const event of events) {
    const outcome = ledger.record(event);
    countOutcome(event, outcome, reports);
    keepOutput(event, reports);
    yield formatProgress(event, progress);
    yield (outcome ? formatOutcome(outcome) : '') + formatDiagnostic(event) + formatEnd(event, reports);
  }
}
