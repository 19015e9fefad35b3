const LOOPBACK = /^(?:localhost|127\.\d+\.\d+\.\d+|\[::1\])$/;

/** Whether a host name or address means the machine itself. */
export function isLoopback(hostname: string): boolean {
  return LOOPBACK.test(hostname);
}

interface Reach {
  /** Where a command with the address of this page works: "on this machine". */
  readonly where: string;
  /** What applications elsewhere need; `null` if they use the same address. */
  readonly elsewhere: string | null;
}

/** `listens`: the address that the server listens on; `null` if it is not known. */
export function describeReach(hostname: string, listens: string | null): Reach {
  if (!isLoopback(hostname)) return { where: 'from any machine that reaches this server', elsewhere: null };
  const isLocal = listens === null || isLoopback(new URL(listens).hostname);
  return {
    where: 'on this machine',
    elsewhere: isLocal
      ? 'The server listens on this machine only. To serve others, start it with --host 0.0.0.0 and a ' +
        'certificate; docs/securing.md explains how.'
      : `On other machines, write the name or the address of this machine instead of ${hostname}.`,
  };
}
