import type { DIGESTS } from '@berth/protocol/admin/choices';
import type { Topic } from '../nouns/topics.ts';

/** Where messages for administrators go, which ones, and when. Stored sealed: addresses may be secrets. */
export interface Channel {
  /** Identifies it. */
  readonly name: string;
  readonly target: ChannelTarget;
  readonly topics: readonly Topic[];
  /** After a message about a topic, the next one about it comes no earlier. */
  readonly gapMinutes: number;
  /** When only what is critical is sent; `null`: never. */
  readonly quiet: QuietHours | null;
  /** Of its quiet hours, of its digest, and of times in messages; as in the tz database. */
  readonly zone: string;
  readonly digest: Digest;
  readonly isPaused: boolean;
}

/** How often it gets a digest. */
export type Digest = (typeof DIGESTS)[number];

interface QuietHours {
  /** Minutes of the day. `from` after `to`: over midnight. */
  readonly from: number;
  readonly to: number;
  /** Also all day on Saturday and Sunday. */
  readonly withWeekends: boolean;
}

export type ChannelTarget = MailTarget | ChatTarget | TemplateTarget;

export interface MailTarget {
  readonly kind: 'mail';
  readonly to: readonly string[];
  readonly from: string;
  readonly host: string;
  readonly port: number;
  /** `starttls`: a connection that cannot be encrypted is refused. `none`: it is not. */
  readonly security: MailSecurity;
  /** `null`: without signing in. */
  readonly user: string | null;
  readonly password: string | null;
}

export type MailSecurity = 'starttls' | 'tls' | 'none';

interface ChatTarget {
  readonly kind: 'slack' | 'teams';
  /** Whoever knows it can post there. */
  readonly url: string;
}

export interface TemplateTarget {
  readonly kind: 'webhook';
  readonly url: string;
  /** JSON with placeholders in its texts. It may hold a key of the receiver, so it is not shown. */
  readonly template: string;
  /** The header `Authorization`; `null`: none. */
  readonly authorization: string | null;
}

/** Whether a host is this machine, so that no one else can read what is sent. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || host === '[::1]' || /^127(?:\.\d{1,3}){3}$/.test(host);
}

/** Each has its own loop. */
export const MAX_CHANNELS = 20;

/** What may be shown of the place where messages go. */
export function describeTarget(target: ChannelTarget): string {
  return target.kind === 'mail' ? target.to.join(', ') : `${new URL(target.url).origin}/…`;
}
