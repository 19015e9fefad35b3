import { DAY_MS, type Instant, MINUTE_MS } from '../../core/nouns/instant.ts';
import { isExpiring } from '../../core/system/note.ts';
import type { Note } from '../../core/system-command.ts';
import type { Store } from '../../store/store.ts';
import type { CloudLink } from '../cloud/cloud-link.ts';

/** Notices about conditions that an administrator should know about. */
export interface Notices {
  /** Records new notices, each once, and returns how many. */
  look(): Promise<number>;
}

interface NoticeOptions {
  readonly store: Store;
  readonly cloudLink: Pick<CloudLink, 'describe'>;
  /** The clock of the cloud link. */
  readonly readWall: () => Instant;
  /** How long before its end a license or token is reported. */
  readonly expiryDays: number;
  /** How long the link to the cloud must fail before it is reported. */
  readonly cloudMinutes: number;
}

/** Each is reported once; beyond this number, the last to end wait until others have ended. */
const MOST_TOKENS = 1000;

export function createNotices(options: NoticeOptions): Notices {
  return {
    async look() {
      const told = [await lookAtLicenses(options), await lookAtTokens(options), await lookAtCloud(options)];
      return told.reduce((sum, count) => sum + count, 0);
    },
  };
}

async function lookAtLicenses({ store, expiryDays }: NoticeOptions): Promise<number> {
  let told = 0;
  for (const { license, now } of await store.read({ kind: 'list_licenses', product: null })) {
    const { id: licenseId, product, validUntil } = license;
    if (validUntil === null || !isExpiring(license, now, expiryDays)) continue;
    told += await note(store, { kind: 'license_expiring', licenseId, product, validUntil });
  }
  return told;
}

async function lookAtTokens({ store, expiryDays }: NoticeOptions): Promise<number> {
  let told = 0;
  const ending = { endingWithinMs: expiryDays * DAY_MS, limit: MOST_TOKENS };
  for (const { token } of await store.read({ kind: 'list_tokens', ...ending })) {
    const { id: tokenId, name, expiresAt } = token;
    if (expiresAt !== null) told += await note(store, { kind: 'token_expiring', tokenId, name, expiresAt });
  }
  return told;
}

/** A cloud that refuses the keys is as useless as an unreachable one; the code tells them apart. */
async function lookAtCloud({ store, cloudLink, readWall, cloudMinutes }: NoticeOptions): Promise<number> {
  const { state, failingAt, error } = await cloudLink.describe();
  if (state === 'ok') return note(store, { kind: 'cloud_reachable' });
  // It is no longer used, and the next outage is a new one.
  if (state === 'not_configured') return note(store, { kind: 'cloud_reachable', reason: state });
  if ((state !== 'failing' && state !== 'refused') || failingAt === null || error === null) return 0;
  if (readWall() < failingAt + cloudMinutes * MINUTE_MS) return 0;
  const { code, reason } = error;
  return note(store, { kind: 'cloud_unreachable', failingAt, code, reason });
}

async function note(store: Store, notice: Note['notice']): Promise<number> {
  const outcome = await store.execute({ kind: 'note', notice });
  return outcome.kind === 'done' ? outcome.count : 0;
}
