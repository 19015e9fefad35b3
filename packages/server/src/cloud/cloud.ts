import type { CloudKeys } from '@berth/protocol/cloud/cloud-authorization';
import type { OfferedCertificate } from '@berth/protocol/grant/server-certificate';
import type { CloudCounts } from '../core/command.ts';
import { Fault } from '../core/nouns/fault.ts';
import { type License, type LicenseId, licenseId } from '../core/nouns/license.ts';

/**
 * The vendor's licensing cloud. It may be unreachable, slow, or an impostor; callers get an answer with a
 * verified signature, a refusal, or a `CloudFault`, within a bounded time. Nothing here changes the state of
 * this server.
 */
export interface Cloud {
  /** Binds the license to this machine. Repeating it is the same activation. */
  activate(keys: CloudKeys, identification: Identification, host: CloudHost): Promise<CloudReply<Vouched>>;
  check(keys: CloudKeys, identification: Identification): Promise<CloudReply<Vouched>>;
  deactivate(keys: CloudKeys, identification: Identification): Promise<CloudReply<null>>;
  /** Reports consumption. */
  report(
    keys: CloudKeys,
    identification: Identification,
    amount: ReportedAmount,
  ): Promise<CloudReply<Counted>>;
  /** Checks whether the cloud accepts the keys. */
  probe(keys: CloudKeys): Promise<CloudReply<null>>;
}

/** A license and a machine. */
export interface Identification {
  readonly hardwareId: string;
  /** The id of the installed license; `null` during its activation. */
  readonly licenseId: LicenseId | null;
  /** The id is sent, except with an activation. Left out for clouds that do not repeat nonces. */
  readonly sendsId?: boolean;
  readonly product: string;
  readonly holder: LicenseHolder;
  /** Asks for a certificate for the key that it names, in an activation or a check. */
  readonly keyStatement?: KeyStatement;
}

/** The word of a server about the key that signs its grants. */
export interface KeyStatement {
  readonly text: string;
  /** Names the key. */
  readonly kid: string;
}

/** By its key, or by the user it was issued to; the password is only needed to activate. */
export type LicenseHolder =
  | { readonly licenseKey: string }
  | { readonly username: string; readonly password: string | null };

/** What the vendor learns about the machine. */
export interface CloudHost {
  readonly hostname: string;
  readonly osVersion: string;
  /** An address of the machine in its network; `null` if it has none. */
  readonly ip: string | null;
  readonly version: string;
}

export interface ReportedAmount {
  /** `null`: of the license itself. */
  readonly feature: string | null;
  readonly amount: number;
  readonly reportId: string;
}

/** A license as the vendor granted it, and what the vendor has counted. */
export interface Vouched {
  readonly license: Omit<License, 'tie' | 'source'>;
  readonly isFloating: boolean;
  readonly counted: Pick<CloudCounts, 'total' | 'features'>;
  /** What the vendor has certified. Of a file, whose key it is must still be checked. */
  readonly certificates: readonly OfferedCertificate[];
}

export interface Counted {
  readonly total: number;
  /** Whether the answer had the report's id: the cloud then counts each id once. */
  readonly knowsReportIds: boolean;
}

export type CloudReply<T> =
  | {
      readonly kind: 'ok';
      readonly value: T;
      readonly isBound: boolean;
      /** Left out: the vendor has signed it. A probe is answered by the keys alone. */
      readonly isSigned?: false;
    }
  | CloudRefusal;

/** The cloud refused the request. */
export interface CloudRefusal {
  readonly kind: 'refused';
  readonly code: string;
  readonly message: string;
  /** Whether the vendor has signed it. */
  readonly isSigned: boolean;
  /** Whether it certainly answers this request: it repeats the nonce, under the signature. */
  readonly isBound: boolean;
  /** Whether the vendor's signature covers the license and the machine. */
  readonly isAboutLicense: boolean;
}

/**
 * Whether a refusal is the vendor's answer to this request. One that repeats our nonce must also name its
 * license and machine, because the nonce may have been sent with another request. A cloud without nonces
 * cannot prove that.
 */
export function isCredible({ isSigned, isBound, isAboutLicense }: CloudRefusal): boolean {
  return isSigned && (!isBound || isAboutLicense);
}

/** Refusals of this server instead of the cloud. */
export const UNPROVEN = { isSigned: false, isBound: false, isAboutLicense: false } as const;

/** Codes for rejected keys, or a wrong clock. */
export const KEY_REFUSALS: ReadonlySet<string> = new Set([
  'invalid_api_key',
  'signature_mismatch',
  'date_not_valid',
]);

export type CloudFaultReason =
  | 'unreachable'
  /** This server aborted the request. */
  | 'stopping'
  | 'certificate'
  | 'timeout'
  | 'broken_off'
  | 'redirect'
  | 'server_error'
  | 'too_large'
  | 'not_understood'
  | 'not_signed'
  /** The answer is not bound to the request. */
  | 'not_bound'
  /** The vendor has certified another key than this server's. */
  | 'wrong_certificate';

/** The cloud gave no valid answer. */
export class CloudFault extends Fault {
  readonly reason: CloudFaultReason;
  /** Whether the cloud may have received and executed the request. */
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

/** From here on the cloud has answered: even if nobody signed it, it may have executed the request. */
export function notSigned(what = ''): CloudFault {
  const message =
    `The answer of the licensing cloud${what} has no valid signature. ` +
    'Check cloud.publicKey and cloud.url.';
  return new CloudFault('not_signed', message, { mayHaveArrived: true });
}

/** The answer is certainly to this request, and about another license: the key has that id at the cloud. */
export class OtherLicense extends CloudFault {
  readonly licenseId: LicenseId;

  constructor(answered: number, asked: LicenseId) {
    const message =
      `The licensing cloud answered for another license: ${answered} instead of ${asked}, with the same ` +
      'key. "berth doctor" says what to do.';
    super('not_bound', message, { mayHaveArrived: true });
    this.licenseId = licenseId(answered);
  }
}

/**
 * The answer has a certificate for another key than the request named: an attacker has put their own key into
 * the request, or answers in the vendor's place. Nothing of such an answer is used.
 */
export class WrongCertificate extends CloudFault {
  /** Names the key. */
  readonly kid: string;
  /** The licenses that it is certified for. */
  readonly licenses: readonly Pick<License, 'id' | 'product'>[];

  constructor({ kid, licenses }: OfferedCertificate) {
    const message =
      `The vendor has certified the key ${kid}, which is not the key of this server. Somebody may have ` +
      'changed the request on its way: check the way to cloud.url, and tell the vendor.';
    super('wrong_certificate', message, { mayHaveArrived: true });
    this.kid = kid;
    this.licenses = licenses.map(({ license_id: id, product }) => ({ id: licenseId(id), product }));
  }
}
