import type { HttpRequest } from '@berth/web/http-request';
import type { Reply } from '@berth/web/reply';
import type { Patience } from '../services/lending/waiting-room.ts';

/** What a client prefers (RFC 7240). */
export interface Preferences {
  readonly isMinimal: boolean;
  /** `undefined`: it does not wait. */
  readonly patience: Patience | undefined;
}

const NO_PREFERENCES: Preferences = { isMinimal: false, patience: undefined };

/** Many clients and proxies give up after a minute. */
const LONGEST_SECONDS = 50;
const SECOND_MS = 1000;

/** Preferences are a list. Unknown ones are ignored. */
export function readPreferences(request: HttpRequest): Preferences {
  const text = request.headers.get('prefer');
  if (text === null) return NO_PREFERENCES;
  const listed = text
    .toLowerCase()
    .replaceAll(/[ \t"]/g, '')
    .split(/[,;]/);
  const wait = listed.find((one) => /^wait=[1-9]\d{0,8}$/.test(one));
  return {
    isMinimal: listed.includes('return=minimal'),
    patience: wait === undefined ? undefined : patienceOf(request, Number(wait.slice('wait='.length))),
  };
}

function patienceOf(request: HttpRequest, seconds: number): Patience {
  const forMs = Math.min(seconds, LONGEST_SECONDS) * SECOND_MS;
  const client = request.watch?.() ?? { isGone: false, onGone: null };
  return { forMs, client, isApplied: false, since: null, waitedMs: 0 };
}

/** Tells the client that it waited, or would have. */
export function withPatience(reply: Reply, patience: Patience | undefined): Reply {
  if (patience === undefined || !patience.isApplied) return reply;
  const headers = { ...reply.headers, 'Preference-Applied': 'wait' };
  return { ...reply, headers, waitedMs: patience.waitedMs };
}
