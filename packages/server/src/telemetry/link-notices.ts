import type { Log } from './log.ts';

interface LinkNews {
  readonly state: 'untried' | 'ok' | 'refused' | 'failing';
  readonly error: { readonly code: string; readonly message: string } | null;
}

/** Logs once, not every minute, that the licensing cloud is unreachable or back. */
export function describeLink(log: Log, { state, error }: LinkNews): void {
  switch (state) {
    case 'ok':
      log.info('the licensing cloud is reachable');
      break;
    case 'refused':
      log.warn(
        { code: error?.code, said: error?.message },
        'the licensing cloud does not accept the keys; licenses stay as they are, and lending continues',
      );
      break;
    case 'failing':
      log.warn({ reason: error?.message }, 'the licensing cloud cannot be used; lending continues');
      break;
    case 'untried':
      break;
  }
}
