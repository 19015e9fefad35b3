import { codeAt, stepAt } from '../../packages/server/src/services/access/one-time-code.ts';
import type { Site } from './site.ts';

/** What people and programs know of the released data: all of it is secret elsewhere. */
export interface Known {
  /** Of all accounts. */
  readonly password: string;
  readonly tokens: { readonly ci: string; readonly ops: string; readonly cad: string };
  /** Of the administrator "ann". */
  readonly secondFactor: string;
  readonly recoveryCode: string;
  webhookSecret: string;
  /** Of the backup that contains the master key. */
  passphrase: string;
}

/** The last count of the release, and its key. */
export const LAST_COUNT = { user: 'bob', consumptions: 7, key: 'last-count-of-bob' } as const;

/** The code that an authenticator app would show now, by the clock of the server. */
export async function readCode(site: Site, secret: string): Promise<string> {
  const { server_at } = await site.get('/api/admin/clock');
  return codeAt(secret, stepAt(Date.parse(String(server_at))));
}
