import type { Screen } from '@berth/protocol/console/console-text';
import type { CallOf } from '@berth/protocol/console/hints';
import type { Config } from '../config.ts';
import type { AdminAnswer, AdminClient } from './admin-client.ts';
import type { SecretPrompt } from './read-secrets.ts';

export type Flags = Readonly<Record<string, string | undefined>>;

interface CommandBase {
  /** How it is called: one word or two. */
  readonly words: string;
  /** Words that must follow; those in brackets may be left out. */
  readonly arguments: readonly string[];
  /** Flags of its own, for the usage page. */
  readonly flags: string;
  readonly about: string;
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
