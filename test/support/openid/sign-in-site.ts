import { FOREIGN, openTestApp } from '../test-app.ts';
import { CLIENT } from './real-provider.ts';

/** The page of the server under test. */
export const PAGE = 'http://localhost:8080/';

const PROVIDER = '/api/admin/session/provider';

/** A server whose people sign in with a provider. `settings`: names as in `auth.oidc`, in capitals. */
export async function openSignInSite(
  t: Parameters<typeof openTestApp>[0],
  issuer: string,
  settings: Readonly<Record<string, string>> = {},
) {
  const all = { ISSUER: issuer, CLIENT_ID: CLIENT.id, CLIENT_SECRET: CLIENT.secret, ...settings };
  const named = Object.entries(all).map(([name, value]) => [`BERTH_AUTH_OIDC_${name}`, value]);
  const app = await openTestApp(t, { licenses: [], env: Object.fromEntries(named) });
  const cookieOf = ({ headers }: { readonly headers: Headers }) => headers.get('set-cookie') ?? '';
  return {
    app,
    async begin() {
      const answer = await app.post(PROVIDER, { page: PAGE }, { peer: FOREIGN });
      const url = String(answer.body.url ?? '');
      const state = URL.parse(url)?.searchParams.get('state') ?? '';
      return { answer, url, state, set: cookieOf(answer), cookie: cookieOf(answer).split(';')[0] as string };
    },
    async finish(cookie: string, query: string) {
      const sent = { peer: FOREIGN, headers: { cookie } };
      const answer = await app.post(PROVIDER, { page: PAGE, answer: query }, sent);
      const session = cookieOf(answer).split(';')[0] as string;
      const { code, message } = answer.body;
      return { answer, session, code, message: String(message) };
    },
    who: (cookie: string) => app.get('/api/admin/session', { peer: FOREIGN, headers: { cookie } }),
  };
}
