import type { Environment, Storage } from '../environment.ts';
import { DeniedError } from '../errors.ts';
import type { Verifier } from '../proof/verifier.ts';
import { NOT_HELD } from '../refusals.ts';
import type { Answer, PostOptions, Servers } from '../servers.ts';
import type { SteadyClock } from '../steady-clock.ts';
import type { Margin } from './lease.ts';

/** Who asks for what, and everything needed to ask. */
export interface Account {
  readonly environment: Environment;
  /** Fails with a `StorageError`. */
  readonly storage: Storage;
  readonly clock: SteadyClock;
  readonly servers: Servers;
  readonly margin?: Margin;
  /** The longest time between renewals that the application wants. */
  readonly renewEveryMs: number;
  /** `null`: servers are trusted without proof. */
  readonly verifier: Verifier | null;
  readonly product: string;
  readonly user: string;
  /** Tells this program from others of the user; `undefined` to return the slot for all of them. */
  readonly instance: string | undefined;
  readonly licenseId: number | null;
  readonly userInfo: string | null;
  /** What stands for this computer. */
  findMark(): Promise<string>;
}

/** The fields that every request has. A client that has got a license stays with it. */
export function targetOf(
  { product, user, instance }: Account,
  licenseId: number | null,
): Record<string, unknown> {
  return { product, user, instance, ...(licenseId === null ? {} : { license_id: licenseId }) };
}

/** The fields of register and borrow. */
export function holderOf(account: Account, licenseId: number | null): Record<string, unknown> {
  const { hostname } = account.environment.host;
  return {
    ...targetOf(account, licenseId),
    ...(hostname === null ? {} : { os_hostname: hostname }),
    ...(account.userInfo === null ? {} : { user_info: account.userInfo }),
  };
}

/** Does nothing if the slot is gone: it has ended, or an operator has taken it back. */
export async function returnSlot(
  account: Account,
  licenseId: number | null,
  options: Pick<PostOptions, 'store' | 'withinMs'> = {},
): Promise<void> {
  try {
    await account.servers.post('unregister', targetOf(account, licenseId), options);
  } catch (error) {
    if (!(error instanceof DeniedError && NOT_HELD.has(error.code))) throw error;
  }
}

export function licenseIdOf({ fields }: Answer): number | null {
  return typeof fields.license_id === 'number' ? fields.license_id : null;
}
