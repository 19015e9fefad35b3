import type { Host } from './environment.ts';

const SUFFIX_LENGTH = 8;

/**
 * The default user: who runs the program, where, and which of several programs it is. A user has one slot,
 * which programs with the same user share.
 */
export function describeProgram(host: Host, createId: () => string): string {
  const suffix = createId().replaceAll('-', '').slice(0, SUFFIX_LENGTH);
  return `${describeSeat(host)}/${host.instance === null ? '' : `${host.instance}-`}${suffix}`;
}

/** The user of a borrow: it belongs to a person on a machine, and outlasts the program. */
export function describeSeat({ osUser, hostname }: Host): string {
  return `${osUser ?? 'web'}@${hostname ?? 'browser'}`;
}
