import type { Instant } from '../../../core/nouns/instant.ts';
import type { StoreNotice } from '../../../core/nouns/store-notice.ts';
import type { MasterKey } from '../../../secrets/seal.ts';
import type { Clock } from '../../clock.ts';
import type { CommandResult } from '../../engine/execute.ts';

export interface WriterOptions {
  readonly file: string;
  readonly clock: Clock;
  readonly masterKey: MasterKey;
  /** A key that was to replace it: the store may be sealed with either. */
  readonly nextMasterKey?: MasterKey | null;
  /** Most answers to remember for repeated requests. */
  readonly maxRememberedAnswers?: number;
  /** Whether users that differ only in case are one; if left out, it stays as it is. */
  readonly ignoresCase?: boolean | undefined;
  /**
   * True for a server. A command that opens a stopped server's data resumes only when it writes: until then
   * time stands still, and no slot is touched.
   */
  readonly resumeAtOpen?: boolean;
}

export interface BatchReply {
  readonly results: readonly CommandResult[];
  readonly now: Instant;
  /** How long the commit took; `null` if nothing changed. */
  readonly syncMs: number | null;
  readonly notices: readonly StoreNotice[];
}
