import { quote } from '@berth/protocol/quote';
import { ProviderFault } from './sign-in-provider.ts';

/** What the library for OpenID says of an error. The last two fields are words of the provider. */
interface Failure {
  readonly code?: string;
  readonly message: string;
  readonly cause?: unknown;
  readonly status?: number;
  readonly error?: string;
  readonly error_description?: string;
}

const NO_PROVIDER = new Set([
  'OAUTH_RESPONSE_IS_NOT_CONFORM',
  'OAUTH_RESPONSE_IS_NOT_JSON',
  'OAUTH_PARSE_ERROR',
]);

/** Says what went wrong and what to do. Whatever is no failure of the provider stays as it is. */
export function explainFault(thrown: unknown): unknown {
  const failure = thrown as Failure;
  const { code = '', cause } = failure;
  if (thrown instanceof ProviderFault) return thrown;
  if (cause instanceof ProviderFault) return cause;
  if (code === 'OAUTH_TIMEOUT') return fault('unavailable', 'The provider does not answer in time.', thrown);
  if (failure.error !== undefined) return explainRefusal(failure);
  if (NO_PROVIDER.has(code)) {
    const status = cause instanceof Response ? ` (status ${cause.status})` : '';
    const text = `The provider does not answer as an OpenID provider does${status}.`;
    return fault('unavailable', `${text} Check "auth.oidc.issuer".`, thrown);
  }
  if (!code.startsWith('OAUTH_') && failure.message !== 'something went wrong') return thrown;
  const why = cause instanceof Error ? cause.message : failure.message;
  return fault('refused', `What the provider sent is not valid: ${why}. Nobody was signed in.`, thrown);
}

/** The provider says so itself, in words that are made for developers. */
function explainRefusal(failure: Failure): ProviderFault {
  const { error = '', error_description: detail, status = 0 } = failure;
  const said = quote(detail === undefined ? error : `${error}: ${detail}`);
  if (error === 'invalid_client' || error === 'unauthorized_client') {
    const text = `The provider does not know this server: it says ${said}. Check "auth.oidc.clientId" and`;
    return fault('refused', `${text} "auth.oidc.clientSecret".`, failure);
  }
  const isPassing = error === 'temporarily_unavailable' || error === 'server_error' || status >= 500;
  const kind = isPassing ? 'unavailable' : 'refused';
  return fault(kind, `The provider did not sign you in: it says ${said}.`, failure);
}

function fault(kind: ProviderFault['kind'], message: string, cause: unknown): ProviderFault {
  return new ProviderFault(kind, message, cause);
}
