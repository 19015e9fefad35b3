/** `tampering`: what is done to the calls, in the words of strace. */
export function underStrace(calls: string, tampering: string): readonly string[] {
  // With -D the server stays our child, and strace hangs on its side.
  return [
    'strace',
    '-D',
    '-f',
    '-qq',
    '--seccomp-bpf',
    '-o',
    '/dev/null',
    '-e',
    `trace=${calls}`,
    '-e',
    `inject=${calls}:${tampering}`,
  ];
}
