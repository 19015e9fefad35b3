import type { TermsChange } from './change-terms.ts';
import { say } from './license.ts';

/** A change as it is kept among the events: the names of the wire, dates that people can read. */
export function describeChange(change: TermsChange): Readonly<Record<string, unknown>> {
  return describe(change) as Readonly<Record<string, unknown>>;
}

function describe(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(describe);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, item]) => {
      const isInstant = /(?:At|Until)$/.test(name) && typeof item === 'number';
      const isOpaque = name === 'metadata';
      return [toSnake(name), isInstant ? say(item) : isOpaque ? item : describe(item)];
    }),
  );
}

function toSnake(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
