/** What the text of the rules says. Plain data: it is stored, and crosses between threads. */
export interface RuleSet {
  readonly groups: Readonly<Record<string, Group>>;
  readonly times: Readonly<Record<string, Times>>;
  /** For every product. */
  readonly deny: Denied;
  readonly products: Readonly<Record<string, ProductRules>>;
  readonly lines?: AccessLines;
}

/** Where `allow` and `deny` begin in the text, if they are there. */
interface AccessLines {
  readonly allow?: number;
  readonly deny?: number;
}

/** Lists of names; `*` stands for any run of characters. Addresses may be ranges: 10.0.0.0/8. */
export type NameLists = Readonly<Record<(typeof NAME_LISTS)[number], readonly string[]>>;

export const NAME_LISTS = ['users', 'hosts', 'addresses'] as const;

/** Whoever one entry matches is a member. */
export interface Group extends NameLists {
  /** Groups whose members are members of this one, too. */
  readonly groups: readonly string[];
  readonly directory?: DirectoryGroup;
}

/** A group in the directory of the company. */
interface DirectoryGroup {
  /** Its whole name there, as written. */
  readonly dn: string;
  /** The names of its members, as it last answered. They are no patterns. */
  readonly members: readonly string[];
}

export interface Denied extends NameLists {
  readonly groups: readonly string[];
}

/** Some hours of some days of the week. If `to` is not after `from`, it is on the next day. */
export interface Times {
  /** 0 is Sunday. */
  readonly days: readonly number[];
  /** Minutes of the day. */
  readonly from: number;
  readonly to: number;
  /** As in the tz database. */
  readonly zone: string;
}

/** What holds for slots of a product or of one of its features. */
export interface SlotRules {
  /** Groups; `null`: everybody may. */
  readonly allow: readonly string[] | null;
  readonly deny: Denied;
  readonly reserve: readonly Reservation[];
  readonly limit: readonly Limit[];
  readonly lines?: AccessLines;
}

export interface ProductRules extends SlotRules {
  readonly borrow: BorrowRules | null;
  readonly priority: readonly Priority[];
  readonly features: Readonly<Record<string, SlotRules>>;
}

interface RuleLine {
  /** In the text. */
  readonly line: number;
  /** A name of `times`; `null`: always. */
  readonly during: string | null;
}

export interface Reservation extends RuleLine {
  readonly slots: number;
  /** A group. */
  readonly for: string;
}

export interface Limit extends RuleLine {
  readonly slots: number;
  /** A group, all of whose members hold no more together; or each host or address by itself. */
  readonly of: LimitedGroup | LimitedPlace;
}

interface LimitedGroup {
  readonly group: string;
}

interface LimitedPlace {
  readonly each: PlaceKind;
}

export type PlaceKind = 'host' | 'address';

export interface BorrowRules extends RuleLine {
  /** Groups; `null`: everybody may. */
  readonly allow: readonly string[] | null;
  /** At most; `null`: as long as the license allows. */
  readonly hours: number | null;
  /** So many slots of the product are never borrowed. */
  readonly keep: number;
  /** Borrowed slots of one address, at most; `null`: no limit. */
  readonly perAddress: number | null;
}

/** In the waiting line; others have level 0. */
export interface Priority extends RuleLine {
  readonly for: string;
  readonly level: number;
}

/** More would make each decision slow. */
export const MAX_RESERVATIONS = 16;

export const NO_NAMES: Denied = { users: [], hosts: [], addresses: [], groups: [] };

export const EMPTY_RULE_SET: RuleSet = { groups: {}, times: {}, deny: NO_NAMES, products: {} };
