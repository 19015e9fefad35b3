import type { AddressRange } from '@berth/protocol/address-range';
import type { SLOT_ORDERS } from '@berth/protocol/admin/choices';
import type { FileVerdict } from '../core/doctor/judge-links.ts';
import type { Channel } from '../core/notify/channel.ts';
import type { RecordedEvent } from '../core/nouns/audit-event.ts';
import type { AuditPosition, Follower } from '../core/nouns/audit-position.ts';
import type { ConsumptionTotals } from '../core/nouns/consumption.ts';
import type { GrantKey } from '../core/nouns/grant-key.ts';
import type { Instant } from '../core/nouns/instant.ts';
import type { License, LicenseId, LicenseSource } from '../core/nouns/license.ts';
import type { NoticeKey } from '../core/nouns/notice-key.ts';
import type { Registration } from '../core/nouns/registration.ts';
import type { StoredSetting } from '../core/nouns/stored-setting.ts';
import type { CloudKeys, OpenRequest } from '../core/system-command.ts';
import type { Report } from '../core/view.ts';
import type { AccountRecord, TokenRecord } from './access-record.ts';
import type { HistoryAnswers, HistoryQuery } from './history-query.ts';
import type { BarRecord, RuleCounts, RuleHistory, RulesRecord, RulesRevision } from './rules-record.ts';

/** All queries, as data. `Answers` has the type of each answer. */
export type Query =
  | { readonly kind: 'list_licenses'; readonly product: string | null }
  | ListRegistrations
  | ListAudit
  | SearchAudit
  | { readonly kind: 'verify_audit' }
  | { readonly kind: 'describe_audit' }
  | ListLinks
  | { readonly kind: 'list_segments' }
  | { readonly kind: 'find_account'; readonly name: string }
  | { readonly kind: 'list_accounts' }
  | { readonly kind: 'find_token'; readonly tokenHash: string }
  | ListTokens
  | { readonly kind: 'is_set_up' }
  | { readonly kind: 'find_cursor'; readonly follower: Follower }
  | { readonly kind: 'find_follower'; readonly follower: Follower }
  | { readonly kind: 'find_notice'; readonly key: NoticeKey }
  | { readonly kind: 'list_notices'; readonly of: NoticeKey['kind'] }
  | { readonly kind: 'list_untidy' }
  | { readonly kind: 'list_backlog' }
  | { readonly kind: 'list_usage' }
  | { readonly kind: 'list_open_requests' }
  | { readonly kind: 'find_identity_key' }
  | { readonly kind: 'describe_store' }
  | { readonly kind: 'describe_engine' }
  | CheckFile
  | { readonly kind: 'describe_seal' }
  | { readonly kind: 'find_cloud_keys' }
  | { readonly kind: 'find_webhook_secret' }
  | { readonly kind: 'list_channels' }
  | { readonly kind: 'find_second_factor'; readonly account: string }
  | { readonly kind: 'find_grant_keys' }
  | { readonly kind: 'find_rules' }
  /** The latest first. */
  | { readonly kind: 'list_rules_revisions' }
  /** What rules have done since then. */
  | { readonly kind: 'list_rule_history'; readonly since: Instant }
  /** What the rules count, of every license that can be used now. */
  | { readonly kind: 'list_rule_counts' }
  | { readonly kind: 'list_bars' }
  | { readonly kind: 'list_settings' }
  | HistoryQuery;

/** Who holds a slot: any part of a list that is sorted and searched. */
export interface ListRegistrations {
  readonly kind: 'list_registrations';
  readonly licenseId: LicenseId | null;
  readonly product: string | null;
  /** Only those of these licenses. */
  readonly among?: readonly LicenseId[] | undefined;
  readonly user: string | null;
  /** Only those whose last request came from this address or range. */
  readonly origin?: AddressRange | undefined;
  readonly search?: SlotSearch | undefined;
  readonly isBorrowed?: boolean | undefined;
  /** Only those that hold a slot of this feature. */
  readonly feature?: string | undefined;
  /** By license and user, if it is missing. */
  readonly order?: SlotOrder | undefined;
  readonly isDescending?: boolean | undefined;
  readonly offset?: number | undefined;
  readonly limit: number;
  /** Continue after this registration, in the order of licenses and users. */
  readonly after: { readonly licenseId: LicenseId; readonly user: string } | null;
}

interface SlotSearch {
  /** A part of the user's or the host's name, or of the address that the host has sent. */
  readonly text: string;
  /** Finds those whose last request came from this address or range, too; `null`: the text is no address. */
  readonly origin: AddressRange | null;
}

export type SlotOrder = (typeof SLOT_ORDERS)[number];

interface ListTokens {
  readonly kind: 'list_tokens';
  readonly limit: number;
  /** Only those that end within this time, the next to end first. */
  readonly endingWithinMs?: number;
}

export interface ListAudit {
  readonly kind: 'list_audit';
  /** One license's chain, `'system'`, or all of them. */
  readonly chain: LicenseId | 'system' | null;
  readonly limit: number;
  /** Stops after the link that reaches this many events: a link may hold those of a whole commit. */
  readonly eventLimit?: number;
  /** Continue with links older than this sequence number. */
  readonly before: number | null;
  /** Links newer than this one instead, the oldest first. */
  readonly after?: number;
}

/** Events that match all that is given, the newest first, in a bounded part of the log. */
export interface SearchAudit {
  readonly kind: 'search_audit';
  /** Chains of licenses, or 0 for the system; `null`: all. */
  readonly chains: readonly number[] | null;
  readonly since: Instant | null;
  /** The first instant that is too late. */
  readonly until: Instant | null;
  /** Whom they are about, or who caused them. */
  readonly user: string | null;
  /** A part of a name or address that they mention; case does not matter. */
  readonly search?: string | undefined;
  /** At most five. */
  readonly kinds: readonly string[] | null;
  /** Only in links older than this sequence number. */
  readonly before: number | null;
  /** How many links to search at most, and how many to return. */
  readonly scanned: number;
  readonly links: number;
}

/** Links as they were written, the oldest first. */
interface ListLinks {
  readonly kind: 'list_links';
  readonly after: number;
  /** The last one to return. */
  readonly upTo: number;
  readonly limit: number;
}

export interface Answers extends HistoryAnswers {
  list_licenses: readonly LicenseRecord[];
  list_registrations: RegistrationPage;
  list_audit: readonly AuditLink[];
  search_audit: AuditPage;
  verify_audit: AuditVerdict;
  describe_audit: AuditExtent;
  list_links: readonly WrittenLink[];
  list_segments: readonly AuditSegment[];
  find_account: AccountRecord | null;
  list_accounts: readonly AccountRecord[];
  find_token: TokenRecord | null;
  /** Those with a name first, then the newest. */
  list_tokens: readonly TokenRecord[];
  /** Whether an administrator has ever set a password. */
  is_set_up: boolean;
  /** How far a follower has got; `null`: there never was one. */
  find_cursor: AuditPosition | null;
  /** The same, with what it remembers. */
  find_follower: FollowerRecord | null;
  /** The value stored under this name; `null`: none. */
  find_notice: number | null;
  /** The subjects that already got this notice. */
  list_notices: readonly string[];
  list_untidy: readonly LicenseId[];
  list_backlog: readonly BacklogRecord[];
  list_usage: readonly UsageRecord[];
  /** Those for licenses that no file has answered, the newest first; at most 20. */
  list_open_requests: readonly RequestRecord[];
  /** The private key of this server, in DER form (PKCS #8). Never sent to anybody. */
  find_identity_key: Uint8Array;
  describe_store: StoreDescription;
  describe_engine: EngineDescription;
  check_file: FileVerdict;
  describe_seal: SealDescription;
  /** Only for requests to the licensing cloud; never sent to anybody else. */
  find_cloud_keys: CloudKeys;
  /** The one that the server has made; `null`: none. */
  find_webhook_secret: string | null;
  /** By name, with their secrets. */
  list_channels: readonly Channel[];
  /** The secret that an account shares with an authenticator app, in base32; `null`: it has none. */
  find_second_factor: string | null;
  /** The newest first. */
  find_grant_keys: readonly GrantKey[];
  find_rules: RulesRecord;
  list_rules_revisions: readonly RulesRevision[];
  list_rule_history: readonly RuleHistory[];
  list_rule_counts: { readonly now: Instant; readonly counts: readonly RuleCounts[] };
  /** By kind and pattern. */
  list_bars: readonly BarRecord[];
  /** By name. */
  list_settings: readonly StoredSetting[];
}

export type Answer<Q extends Query> = Answers[Q['kind']];

/** A license, the most recently added first in lists. */
export interface LicenseRecord {
  readonly license: License;
  readonly inUse: number;
  readonly borrowed: number;
  /** Borrowed slots of each feature, in the order of `totals`. */
  readonly featuresBorrowed: readonly number[];
  readonly totals: ConsumptionTotals;
  readonly addedAt: Instant;
  /** The server's time of this answer. */
  readonly now: Instant;
}

/** What was counted on a license or a feature, and how much of it may be unknown to the vendor. */
export interface BacklogRecord {
  readonly licenseId: LicenseId;
  readonly product: string;
  readonly source: LicenseSource;
  /** The license was removed with unsettled counts. */
  readonly isRemoved: boolean;
  /** `null`: the license itself. */
  readonly feature: string | null;
  /** Counted, and in no report yet. */
  readonly pending: number;
  readonly reported: number;
  /** On its way to the vendor: at most one. */
  readonly underWay: OpenReport | null;
  /** The vendor may or may not have counted these. */
  readonly uncertain: readonly OpenReport[];
}

/** What was counted on a license from a file and never reported to a cloud; includes removed licenses. */
export interface UsageRecord {
  readonly licenseId: LicenseId;
  readonly licenseKey: string;
  readonly product: string;
  readonly isRemoved: boolean;
  /** `null`: of the license itself. */
  readonly feature: string | null;
  readonly consumed: number;
}

/** A request for a license. */
export interface RequestRecord extends Pick<OpenRequest, 'requestId' | 'product' | 'licenseKey'> {
  readonly request: 'activation' | 'airgap';
  readonly madeAt: Instant;
}

export type OpenReport = Omit<Report, 'feature'>;

export interface RegistrationPage {
  /** How many there are on all pages; `null` behind the first one: counting takes longer than the page. */
  readonly matched: number | null;
  readonly registrations: readonly RegistrationRecord[];
  readonly now: Instant;
}

export interface RegistrationRecord {
  readonly licenseId: LicenseId;
  readonly product: string;
  readonly registration: Registration;
  /** The features of which the user holds a slot, too. */
  readonly features: readonly string[];
}

/** All events of one chain in one commit. */
export interface AuditLink {
  readonly seq: number;
  /** A license id, or 0 for the system. */
  readonly chain: number;
  readonly n: number;
  readonly at: Instant;
  readonly events: readonly RecordedEvent[];
}

/** Links with the events that match; there may be more before `next`. */
export interface AuditPage {
  readonly links: readonly AuditLink[];
  /** `null`: there are no more. */
  readonly next: number | null;
  /** How many links were searched. */
  readonly searched: number;
}

/** A link with its MAC. */
export interface WrittenLink extends Omit<AuditLink, 'events'> {
  /** The JSON text, byte for byte. */
  readonly events: string;
  /** In hex. */
  readonly mac: string;
}

/** The first links of a chain, of which only totals are left. MACs are in hex. */
export interface AuditSegment {
  readonly chain: number;
  readonly firstN: number;
  readonly lastN: number;
  readonly firstMac: string;
  readonly lastMac: string;
  readonly firstAt: Instant;
  readonly lastAt: Instant;
  readonly links: number;
  readonly events: number;
  /** How many events there are of each kind. */
  readonly totals: Readonly<Record<string, number>>;
  readonly mac: string;
}

interface AuditExtent {
  /** The newest link of all; 0: none was ever written. */
  readonly lastSeq: number;
}

export interface AuditVerdict {
  readonly ok: boolean;
  readonly chains: number;
  readonly links: number;
  readonly events: number;
  /** Links of which only totals are left. */
  readonly thinned: number;
  readonly problems: readonly AuditProblem[];
}

export interface AuditProblem {
  /** `null`: it concerns all chains together. */
  readonly chain: number | null;
  readonly n: number;
  readonly problem: string;
}

export interface FollowerRecord {
  readonly position: AuditPosition;
  /** JSON; `null`: nothing. */
  readonly memory: string | null;
}

export interface StoreDescription {
  readonly kind: string;
  readonly engine: string;
  /** Where the database is: of several hosts, the one in use. `null`: it is a file. */
  readonly host: string | null;
  readonly schemaVersion: number;
  readonly identity: string;
  /** As of the last start; `null`: it has never been started. */
  readonly hardwareId: string | null;
  readonly licenses: number;
  readonly registrations: number;
  /** An administrator still has the password that the server generated. */
  readonly isOneTimePasswordInUse: boolean;
  /** It is for tests, and takes no real licenses. */
  readonly hasTestClock: boolean;
}

/** How the database is set up, and who uses it. */
export interface EngineDescription {
  /** By their names; `null`: the database does not know it. */
  readonly settings: Readonly<Record<string, string | null>>;
  /** The port that the database itself listens on; `null`: unknown, or it is a file. */
  readonly port: number | null;
  /** The servers that were seen in the last half minute; none if the store is not shared. */
  readonly servers: readonly { readonly hostname: string; readonly version: string }[];
}

/** Reads the whole file of the database, if it is not larger. */
interface CheckFile {
  readonly kind: 'check_file';
  readonly maxBytes: number;
}

/** What can be read in some seconds. */
export const CHECK_FILE: CheckFile = { kind: 'check_file', maxBytes: 1024 ** 3 };

interface SealDescription {
  /** The fingerprint of the master key that opens the secrets of the store. */
  readonly sealedBy: string;
}
