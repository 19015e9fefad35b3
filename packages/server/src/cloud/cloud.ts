import type { CloudKeys } from '@berth/protocol/cloud/cloud-authorization';
import type { CloudCounts } from '../core/command.ts';
import { Fault } from '../core/nouns/fault.ts';
import type { License, LicenseId } from '../core/nouns/license.ts';

/**
 * The vendor's licensing cloud. It may be away, slow, or not what it claims to be; whoever asks it gets an
 * answer whose signature was checked, a refusal, or a `CloudFault`, within a bounded time. Nothing here
 * changes anything in this server.
 */
export interface Cloud {
  /** Binds the license to this machine. Doing it again is the same activation. */
  activate(keys: CloudKeys, identification: Identification, host: CloudHost): Promise<CloudReply<Vouched>>;
  check(keys: CloudKeys, identification: Identification): Promise<CloudReply<Vouched>>;
  deactivate(keys: CloudKeys, identification: Identification): Promise<CloudReply<null>>;
  /** Tells what was consumed. */
  report(
    keys: CloudKeys,
    identification: Identification,
    amount: ReportedAmount,
  ): Promise<CloudReply<Counted>>;
  /** Asks for nothing, to learn whether the keys are taken. */
  probe(keys: CloudKeys): Promise<CloudReply<null>>;
}

/** Which license is meant, for which machine. */
export interface Identification {
  readonly hardwareId: string;
  /** The license that this server holds; `null`: it is only being activated. It is not sent. */
  readonly licenseId: LicenseId | null;
  readonly product: string;
  readonly holder: LicenseHolder;
}

/** By its key, or by the user that it was issued to; the password is needed for the activation only. */
export type LicenseHolder =
  | { readonly licenseKey: string }
  | { readonly username: string; readonly password: string | null };

/** What the vendor may know about the machine. */
export interface CloudHost {
  readonly hostname: string;
  readonly osVersion: string;
  /** An address of the machine in its own network; `null`: it has none. */
  readonly ip: string | null;
  readonly version: string;
}

export interface ReportedAmount {
  /** `null`: of the license itself. */
  readonly feature: string | null;
  readonly amount: number;
  readonly reportId: string;
}

/** A license as the vendor granted it, and what the vendor has counted of it. */
export interface Vouched {
  readonly license: Omit<License, 'tie' | 'source'>;
  readonly isFloating: boolean;
  readonly counted: Pick<CloudCounts, 'total' | 'features'>;
}

export interface Counted {
  readonly total: number;
  /** The answer carried the report's id: the cloud counts an id only once. */
  readonly knowsReportIds: boolean;
}

export type CloudReply<T> =
  | { readonly kind: 'ok'; readonly value: T; readonly isBound: boolean }
  | CloudRefusal;

/** The cloud understood, and said no. */
export interface CloudRefusal {
  readonly kind: 'refused';
  readonly code: string;
  readonly message: string;
  /** It is certainly the vendor who says so. */
  readonly isSigned: boolean;
  /** It certainly answers this request and no other: it repeats the nonce, under the signature. */
  readonly isBound: boolean;
  /** The vendor's signature covers that it is about this license on this machine. */
  readonly isAboutLicense: boolean;
}

/**
 * Whether a refusal may be followed as the vendor's word about this request. One that repeats our nonce also
 * has to say what it is about: the nonce may have been sent with another request. A cloud without nonces
 * cannot show that.
 */
export function isCredible({ isSigned, isBound, isAboutLicense }: CloudRefusal): boolean {
  return isSigned && (!isBound || isAboutLicense);
}

/** What this server says in place of the cloud. */
export const UNPROVEN = { isSigned: false, isBound: false, isAboutLicense: false } as const;

/** What a cloud says when it does not take the keys, or the clock that they are used with. */
export const KEY_REFUSALS: ReadonlySet<string> = new Set([
  'invalid_api_key',
  'signature_mismatch',
  'date_not_valid',
]);

export type CloudFaultReason =
  | 'unreachable'
  /** This server cut it off. */
  | 'stopping'
  | 'certificate'
  | 'timeout'
  | 'broken_off'
  | 'redirect'
  | 'server_error'
  | 'too_large'
  | 'not_understood'
  | 'not_signed'
  /** It is not bound to the request that was sent. */
  | 'not_bound';

/** The cloud gave no answer that can be used. */
export class CloudFault extends Fault {
  readonly reason: CloudFaultReason;
  /** The cloud may have got the request and done what it asked for. */
  readonly mayHaveArrived: boolean;

  constructor(
    reason: CloudFaultReason,
    message: string,
    options: { readonly mayHaveArrived: boolean; readonly cause?: unknown },
  ) {
    super('cloud_unavailable', message, { cause: options.cause });
    this.reason = reason;
    this.mayHaveArrived = options.mayHaveArrived;
  }
}
