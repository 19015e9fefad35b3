import type { FlagsOf } from '@berth/shell/console/command-flags';
import type { CommandUsage } from '@berth/shell/console/command-help';
import type { Screen } from '@berth/shell/console/console-text';
import type { CallOf } from '@berth/shell/console/hints';
import type { Config } from '../config.ts';
import type { Finding } from '../core/doctor/finding.ts';
import type { Losses } from '../services/backups/find-losses.ts';
import type { AdminAnswer, AdminClient, RefusedAnswer } from './admin-client.ts';
import type { SecretPrompt } from './read-secrets.ts';

/** Flags beside those of settings. The usage of a command says which of them it takes. */
export const FLAGS = {
  help: { type: 'boolean', short: 'h' },
  version: { type: 'boolean', short: 'v' },
  json: { type: 'boolean' },
  demo: { type: 'boolean' },
  config: { type: 'string' },
  product: { type: 'string' },
  user: { type: 'string' },
  address: { type: 'string' },
  host: { type: 'string' },
  note: { type: 'string' },
  'license-id': { type: 'string' },
  system: { type: 'boolean' },
  limit: { type: 'string' },
  license: { type: 'string' },
  since: { type: 'string' },
  until: { type: 'string' },
  kind: { type: 'string' },
  after: { type: 'string' },
  before: { type: 'string' },
  file: { type: 'string' },
  'new-key': { type: 'boolean' },
  role: { type: 'string' },
  products: { type: 'string' },
  days: { type: 'string' },
  'one-time': { type: 'boolean' },
  'license-key': { type: 'string' },
  'policy-id': { type: 'string' },
  'confirmation-code': { type: 'string' },
  deactivate: { type: 'boolean' },
  out: { type: 'string' },
  locally: { type: 'boolean' },
  'accept-older': { type: 'boolean' },
  'accept-unbound': { type: 'boolean' },
  counted: { type: 'boolean' },
  'not-counted': { type: 'boolean' },
  'demo-cloud': { type: 'boolean' },
  'test-clock': { type: 'boolean' },
  slots: { type: 'string' },
  'timeout-minutes': { type: 'string' },
  'max-borrow-hours': { type: 'string' },
  qr: { type: 'boolean' },
  'dry-run': { type: 'boolean' },
  yes: { type: 'boolean' },
  'with-names': { type: 'boolean' },
  'passphrase-file': { type: 'string' },
  'master-key-file': { type: 'string' },
  replace: { type: 'boolean' },
  feature: { type: 'string' },
  reason: { type: 'string' },
  csv: { type: 'boolean' },
  format: { type: 'string' },
  to: { type: 'string' },
  from: { type: 'string' },
  server: { type: 'string' },
  security: { type: 'string' },
  topics: { type: 'string' },
  gap: { type: 'string' },
  quiet: { type: 'string' },
  weekends: { type: 'string' },
  zone: { type: 'string' },
  digest: { type: 'string' },
} as const;

export type Flags = FlagsOf<typeof FLAGS>;

interface CommandBase extends CommandUsage {
  /** Secrets to read from standard input, one per line: every user of the machine can read command lines. */
  reads?(flags: Flags): readonly SecretPrompt[];
}

/** A command that has one answer, and shows it. */
interface AnsweringCommand<Shown> extends CommandBase {
  /** Formats the answer for people; `--json` prints it as it is. `callOf` formats a command to type. */
  show(body: Shown, callOf: CallOf, flags: Flags): string;
  /** What is not part of the answer: standard error gets it, unless `--json` is given. */
  note?(body: Shown): string;
  /** Runs before secrets are read: returns a refusal if the command cannot succeed, else `null`. */
  precheck?(client: AdminClient, words: readonly string[], flags: Flags): Promise<RefusedAnswer | null>;
  /** The text of a QR code, drawn on a terminal and wherever --qr is given. */
  scan?(body: Shown): string;
  /** Whether the answer reports a problem: the command then fails, so that scripts notice. */
  isFailure?(body: Shown): boolean;
}

/** Asks the server, running or stopped. */
interface AskingCommand<Answer, Shown> extends AnsweringCommand<Shown> {
  ask(
    client: AdminClient,
    words: readonly string[],
    flags: Flags,
    lines: readonly string[],
  ): Promise<AdminAnswer<Answer>>;
}

/** Runs without a server. */
interface LocalCommand<Answer, Shown> extends AnsweringCommand<Shown> {
  local(context: LocalContext): Promise<AdminAnswer<Answer>>;
}

/** Asks the server, or runs without one, depending on its flags. */
interface EitherCommand<Answer, Shown> extends AskingCommand<Answer, Shown>, LocalCommand<Answer, Shown> {
  isLocal(flags: Flags): boolean;
}

type OwnCommand<Answer, Shown> =
  | AskingCommand<Answer, Shown>
  | LocalCommand<Answer, Shown>
  | EitherCommand<Answer, Shown>;

/** A command that shows what it is answered: both have one type. */
export function defineCommand<Answer>(command: OwnCommand<Answer, Answer>): Command {
  return command;
}

export type MoveDirection = 'to-postgres' | 'to-sqlite';

export interface LocalContext {
  readonly config: Config;
  readonly words: readonly string[];
  readonly flags: Flags;
  readonly lines: readonly string[];
  /** The command line that starts this program again. */
  readonly self: readonly string[];
  /** Installs the master key of an export and returns its fingerprint. */
  importMasterKey(text: string, passphrase: string): Promise<string>;
  /** Moves the data of a stopped server between its folder and the database. */
  moveStore(direction: MoveDirection): Promise<object>;
  /** Of this program. */
  readonly version: string;
  /** The server, running or stopped. */
  open(): Promise<AdminClient>;
  /** Why it could not be opened, if the message explains it; throws any other error. */
  explain(error: unknown): Promise<string>;
  /** Examines what is around a server that cannot be opened. */
  examineSurroundings(): Promise<readonly Finding[]>;
  /** Replaces the data of a stopped server with that of a backup. */
  restoreBackup(request: RestoreRequest): Promise<Restored>;
}

/** What a restore did, as the command presents it. */
export interface Restored {
  readonly made_at: string;
  readonly made_by: string;
  readonly restored_to: string;
  readonly audit: { readonly chains: number; readonly links: number; readonly events: number };
  /** Where the replaced data is. */
  readonly kept: readonly string[];
  /** The latest time in the replaced data; `null`: there was none that could be read. */
  readonly replaced_at: string | null;
  readonly replaced_other_server: boolean;
  readonly lost: Losses | null;
  /** Licenses in the backup that were given back to the vendor since, and stay so. */
  readonly given_back: readonly { readonly license_id: number; readonly product: string }[];
  /** Amounts of consumption that may or may not have been reported. */
  readonly uncertain_reports: number;
  /** Stored settings by which a copy would act on what belongs to the original; without secrets. */
  readonly settings_left_out: readonly { readonly name: string; readonly value: unknown }[];
  /** Channels by which a copy would send messages. */
  readonly channels_paused: readonly string[];
  readonly hardware_id_before: string | null;
}

export interface RestoreRequest {
  readonly file: string;
  readonly passphrase: string | null;
  readonly keyFile: string | null;
}

/** Prints while it runs; its answer only says how it ended. */
export interface FollowingCommand extends CommandBase {
  follow(context: FollowContext): Promise<AdminAnswer<object>>;
}

export interface FollowContext {
  readonly client: AdminClient;
  readonly flags: Flags;
  readonly isJson: boolean;
  readonly screen: Screen;
  print(line: string): void;
  /** Writes a note to standard error. */
  note(line: string): void;
}

export type Command = OwnCommand<unknown, never> | FollowingCommand;
