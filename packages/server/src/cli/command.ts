import type { FlagsOf } from '@berth/protocol/console/command-flags';
import type { CommandUsage } from '@berth/protocol/console/command-help';
import type { Screen } from '@berth/protocol/console/console-text';
import type { CallOf } from '@berth/protocol/console/hints';
import type { Config } from '../config.ts';
import type { AdminAnswer, AdminClient } from './admin-client.ts';
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
  'license-id': { type: 'string' },
  system: { type: 'boolean' },
  limit: { type: 'string' },
  after: { type: 'string' },
  before: { type: 'string' },
  file: { type: 'string' },
  'new-key': { type: 'boolean' },
  role: { type: 'string' },
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
  qr: { type: 'boolean' },
  'dry-run': { type: 'boolean' },
  yes: { type: 'boolean' },
} as const;

export type Flags = FlagsOf<typeof FLAGS>;

interface CommandBase extends CommandUsage {
  /** Secrets that it takes, a line each, from standard input: a command line can be read by everybody. */
  reads?(flags: Flags): readonly SecretPrompt[];
}

/** A command that has one answer. */
interface AnsweringCommand extends CommandBase {
  /** The answer for people; `--json` prints it as it is. `callOf` writes a command that they are to type. */
  show(body: never, callOf: CallOf): string;
  /** Before a secret is asked for: the refusal of what cannot be done anyway; `null`: go on. */
  precheck?(client: AdminClient, words: readonly string[], flags: Flags): Promise<AdminAnswer | null>;
  /** What a scanner is to read: drawn as a QR code on a terminal, and wherever --qr asks for it. */
  scan?(body: never): string;
  /** An answer that is bad news makes the command fail, so that a script notices. */
  isFailure?(body: never): boolean;
}

/** Asks the server, running or stopped. */
interface AskingCommand extends AnsweringCommand {
  ask(
    client: AdminClient,
    words: readonly string[],
    flags: Flags,
    lines: readonly string[],
  ): Promise<AdminAnswer>;
}

/** Does without a server. */
interface LocalCommand extends AnsweringCommand {
  local(context: LocalContext): Promise<AdminAnswer>;
}

/** Asks the server, or does without one, as its flags say. */
interface EitherCommand extends AskingCommand, LocalCommand {
  isLocal(flags: Flags): boolean;
}

export type MoveDirection = 'to-postgres' | 'to-sqlite';

export interface LocalContext {
  readonly config: Config;
  readonly words: readonly string[];
  readonly flags: Flags;
  readonly lines: readonly string[];
  /** Puts the master key of an export in its place, and answers its fingerprint. */
  importMasterKey(text: string, passphrase: string): Promise<string>;
  /** Moves the data of a stopped server between its folder and the database. */
  moveStore(direction: MoveDirection): Promise<object>;
}

/** Prints as it goes; its answer only says how it ended. */
export interface FollowingCommand extends CommandBase {
  follow(context: FollowContext): Promise<AdminAnswer>;
}

export interface FollowContext {
  readonly client: AdminClient;
  readonly flags: Flags;
  readonly isJson: boolean;
  readonly screen: Screen;
  print(line: string): void;
  /** Tells the person beside what is printed. */
  note(line: string): void;
}

export type Command = AskingCommand | LocalCommand | EitherCommand | FollowingCommand;
