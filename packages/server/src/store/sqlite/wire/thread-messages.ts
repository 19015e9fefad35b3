import type { Command } from '../../../core/command.ts';
import type { Standing } from '../../../core/nouns/consumption.ts';
import { Fault } from '../../../core/nouns/fault.ts';
import type { Instant } from '../../../core/nouns/instant.ts';
import type { License } from '../../../core/nouns/license.ts';
import type { StoreNotice } from '../../../core/nouns/store-notice.ts';
import type { Granted } from '../../../core/outcome.ts';
import type { MasterKey } from '../../../secrets/seal.ts';
import type { CommandResult } from '../../engine/execute-command.ts';
import type { Query } from '../../query.ts';
import type { ClockStatus, Executed, GrantedNow } from '../../store.ts';

/** What the writing thread is started with. */
export interface ThreadData {
  readonly file: string;
  readonly masterKey: MasterKey;
  /** A key that was to replace it: the store may be sealed with either. */
  readonly nextMasterKey?: MasterKey | null;
  /** Whether users that differ only in case are one; if left out, it stays as it is. */
  readonly ignoresCase?: boolean | undefined;
}

export type ToWriter =
  | { readonly kind: 'execute'; readonly commands: readonly Command[] }
  | { readonly kind: 'keep_clock' }
  | { readonly kind: 'close' };

export type FromWriter =
  | { readonly kind: 'ready' }
  | { readonly kind: 'failed_to_open'; readonly message: string }
  | {
      readonly kind: 'executed';
      readonly results: readonly PackedResult[];
      /** Licenses that `results` refer to and that were not sent yet. */
      readonly licenses: readonly License[];
      readonly now: Instant;
      /** How long the commit took; `null` if nothing changed. */
      readonly syncMs: number | null;
      readonly notices: readonly StoreNotice[];
    }
  | { readonly kind: 'batch_failed'; readonly count: number; readonly message: string }
  | { readonly kind: 'clock'; readonly status: ClockStatus; readonly notices: readonly StoreNotice[] }
  | { readonly kind: 'clock_failed'; readonly message: string }
  | { readonly kind: 'closed' };

export interface ToReader {
  readonly id: number;
  readonly query: Query;
  readonly now: Instant;
  /** Only for a query that needs them. */
  readonly masterKeys: readonly MasterKey[];
}

export type FromReader =
  | { readonly id: number; readonly answer: unknown }
  | { readonly id: number; readonly message: string };

/** An outcome without its license and standing: they are large, change seldom, and are sent once. */
type PackedResult =
  | { readonly outcome: Exclude<Executed, GrantedNow> | PackedGranted }
  | { readonly message: string; readonly stack: string };

type PackedGranted = Omit<Granted, 'license'> & {
  readonly licenseId: number;
  /** `null` if it is the one last sent for this license. */
  readonly standing: Standing | null;
};

/** Takes licenses out of outcomes; the unpacker in the other thread puts them back. */
export class ResultPacker {
  readonly #sent = new Map<number, License>();
  readonly #sentStandings = new Map<number, Standing>();

  pack(results: readonly CommandResult[]): { results: PackedResult[]; licenses: License[] } {
    const licenses: License[] = [];
    return { results: results.map((result) => this.#packOne(result, licenses)), licenses };
  }

  #packOne(result: CommandResult, licenses: License[]): PackedResult {
    if ('error' in result) return describeError(result.error);
    if (result.outcome.kind !== 'granted') return { outcome: result.outcome };
    const { license, registration, inUse, now, standing } = result.outcome;
    if (this.#sent.get(license.id) !== license) {
      this.#sent.set(license.id, license);
      licenses.push(license);
    }
    const isNew = this.#sentStandings.get(license.id) !== standing;
    if (isNew) this.#sentStandings.set(license.id, standing);
    const packed = { registration, inUse, now, standing: isNew ? standing : null };
    return { outcome: { kind: 'granted', licenseId: license.id, ...packed } };
  }
}

function describeError(error: unknown): { message: string; stack: string } {
  if (!(error instanceof Error)) return { message: String(error), stack: '' };
  return { message: error.message, stack: error.stack ?? '' };
}

export class ResultUnpacker {
  readonly #licenses = new Map<number, License>();
  readonly #standings = new Map<number, Standing>();

  learn(licenses: readonly License[]): void {
    for (const license of licenses) this.#licenses.set(license.id, license);
  }

  unpack(packed: PackedResult): CommandResult {
    if ('message' in packed) {
      const error = new Error(packed.message);
      error.stack = packed.stack;
      return { error };
    }
    const { outcome } = packed;
    if (outcome.kind !== 'granted') return { outcome };
    const { licenseId, registration, inUse, now } = outcome;
    const license = this.#licenses.get(licenseId) as License;
    if (outcome.standing !== null) this.#standings.set(licenseId, outcome.standing);
    const standing = this.#standings.get(licenseId) as Standing;
    return { outcome: { kind: 'granted', license, registration, inUse, now, standing } };
  }
}

/** The answer to every command of a failed batch. */
export function storeFault(cause: unknown): Fault {
  return new Fault('store_unavailable', 'The server cannot write its data now. Try again in a moment.', {
    cause,
  });
}
