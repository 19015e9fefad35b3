import type { TermsChange } from './change-terms.ts';
import { say } from './license.ts';

/** The facts of a change event: API names and readable dates. */
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
