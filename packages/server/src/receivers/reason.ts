/** Why a receiver was not reached. Never includes what it sent, which might repeat secrets. */
export function reasonOf(error: unknown): string {
  if (error instanceof Error && error.name === 'TimeoutError') return 'it did not answer in time';
  return sayUnreachable(codeOf(error) || 'no reason');
}

export function sayUnreachable(code: string): string {
  if (code !== 'ERR_IP_BLOCKED') return `it cannot be reached (${code})`;
  return 'it has an address that this server does not post to (see "notify.privateAddresses" in SECURITY.md)';
}

/** The driver wraps the reason, sometimes twice. */
function codeOf(error: unknown): string {
  if (!(error instanceof Error)) return '';
  const { code } = error as NodeJS.ErrnoException;
  if (typeof code === 'string') return code;
  return codeOf(error instanceof AggregateError ? error.errors[0] : error.cause);
}
