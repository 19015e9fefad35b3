import { plural } from './time.ts';

/** How many programs of one user share a slot; nothing to say unless there are several. */
export function sayPrograms(programs: number): readonly string[] {
  return programs > 1 ? [plural(programs, 'program')] : [];
}
