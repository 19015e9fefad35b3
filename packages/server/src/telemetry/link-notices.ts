import type { Log } from './log.ts';

interface LinkNews {
  readonly state: 'untried' | 'ok' | 'refused' | 'failing';
  readonly error: { readonly code: string; readonly message: string } | null;
}

/** Says once, and not every minute, that the licensing cloud is away, or back. */
export function describeLink(log: Log, { state, error }: LinkNews): void {
  switch (state) {
    case 'ok':
      log.info('the licensing cloud is reached');
      break;
    case 'refused':
      log.warn(
        { code: error?.code, said: error?.message },
        'the licensing cloud does not take the keys; licenses stay as they are, and lending goes on',
      );
      break;
    case 'failing':
      log.warn({ reason: error?.message }, 'the licensing cloud cannot be used now; lending goes on');
      break;
    case 'untried':
      break;
  }
}
