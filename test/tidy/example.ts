import type { SourceFile } from './source.ts';

export interface Example {
  rule: string;
  title: string;
  files: SourceFile[];
}

/** An example which breaks the rule once, in its first file on the line given. */
export interface Rejected extends Example {
  line: number;
}

export const SERVER = 'packages/server/src';
export const CLOUD = 'packages/cloud/src';

export function accept(rule: string, title: string, path: string, text: string): Example {
  return { rule, title, files: [{ path, text }] };
}

export function reject(rule: string, title: string, path: string, text: string, line = 1): Rejected {
  return { ...accept(rule, title, path, text), line };
}
