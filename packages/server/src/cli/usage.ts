import { ANSWERED, type CommandUsage } from '@berth/shell/console/command-help';
import { SHELLS } from '@berth/shell/console/completion';
import { envOf, fileVariableOf, flagOf } from '../config.ts';
import type { Setting } from '../setting.ts';
import { SETTINGS } from '../settings.ts';
import type { Command } from './command.ts';
import { COMMANDS } from './commands/commands.ts';

/** A command as the command line knows it; `null` runs the server. */
export interface Entry extends CommandUsage {
  readonly command: Command | null;
}

const SERVE = {
  words: 'serve',
  usage: '[--demo | --demo-cloud] [--test-clock] [--host H] [--port N] [--data DIR]',
  about:
    'run the server; --demo adds a demo license to an empty store, --demo-cloud also starts a licensing ' +
    'cloud and adds a license from it; --test-clock is for testing applications: time can be moved, and no ' +
    'real license is taken',
  command: null,
};

/** The launcher runs it; see `bin/main.ts`. */
export const CLOUD: CommandUsage = {
  words: 'cloud',
  arguments: ['COMMAND'],
  about: `run and administer the vendor's licensing cloud; "cloud help" lists its commands`,
};

export const COMPLETION = {
  words: 'completion',
  arguments: [SHELLS.join('|')],
  about: 'print the completion of commands and flags for a shell; the first line of it says how to load it',
  command: null,
};

export const ENTRIES: readonly Entry[] = [
  SERVE,
  ...COMMANDS.map((command) => ({ ...command, command })),
  COMPLETION,
  ...ANSWERED.map((usage) => ({ ...usage, command: null })),
];

const TO_STOP = () =>
  'There is no command to stop the server. Press Ctrl-C where it runs, or use "kill PID"; where it is a ' +
  'service, use "systemctl stop berth" (docs/install.md).';

const TO_BAR = (program: string) =>
  `"${program} bar USER" bars a user, with --host or --address a machine, and "${program} unbar" lifts it; ` +
  `"${program} rules show" shows who is barred (docs/securing.md).`;

const TO_UNINSTALL = (program: string) =>
  `"${program} service uninstall" removes the service; docs/install.md explains how to remove Berth.`;

const TO_EXPLAIN = (program: string) =>
  `"${program} usage denials --user NAME" shows why a user was denied, and "${program} rules why NAME" ` +
  'what bars them.';

const TO_LOG_IN = (program: string) =>
  'The command line needs no login: users who can read the data folder may run commands. ' +
  `"${program} user password NAME" sets the password of an account, "${program} token create NAME" creates ` +
  'a token for a program.';

const TO_SET_UP = (program: string) =>
  `Start the server with "${program} serve", then replace the first password with ` +
  `"${program} user password admin".`;

/** Other words for our commands. */
export const MEANINGS = {
  nouns: {
    start: 'serve',
    run: 'serve',
    server: 'serve',
    health: 'status',
    info: 'status',
    state: 'status',
    ping: 'status',
    diagnose: 'doctor',
    support: 'support-bundle',
    setting: 'config',
    configuration: 'config',
    option: 'config',
    daemon: 'service',
    systemd: 'service',
    time: 'clock',
    licence: 'license',
    product: 'license',
    session: 'registration',
    slot: 'registration',
    seat: 'registration',
    lease: 'registration',
    borrow: 'registration',
    holder: 'registration',
    client: 'registration',
    consumption: 'usage',
    log: 'audit',
    history: 'usage',
    event: 'events',
    watch: 'events',
    tail: 'events',
    rule: 'rules',
    secret: 'key',
    account: 'user',
    admin: 'user',
    migrate: 'migrate-store',
    move: 'migrate-store',
    who: 'registration',
    whoami: 'registration',
  },
  answers: {
    stop: TO_STOP,
    shutdown: TO_STOP,
    quit: TO_STOP,
    restart: TO_STOP,
    block: TO_BAR,
    unblock: TO_BAR,
    ban: TO_BAR,
    deny: TO_BAR,
    lock: TO_BAR,
    uninstall: TO_UNINSTALL,
    demo: (program: string) => `The demo is a flag: "${program} serve --demo".`,
    why: TO_EXPLAIN,
    login: TO_LOG_IN,
    signin: TO_LOG_IN,
    setup: TO_SET_UP,
    init: TO_SET_UP,
  },
} as const;

/** Every setting with its flag, variable and name. */
export function describeSettings(): string {
  return [
    'Settings (flag, or environment variable, or name in berth.yaml):',
    '',
    ...SETTINGS.map((setting) =>
      [
        `  --${flagOf(setting.path)}, ${sayVariables(setting)}`,
        `      ${setting.path}: ${setting.about} ${sayDefault(setting.default)}`,
      ].join('\n'),
    ),
    '  --config FILE',
    '      Read settings from FILE instead of ./berth.yaml.',
  ].join('\n');
}

function sayVariables(setting: Setting): string {
  const file = fileVariableOf(setting);
  return file === null ? envOf(setting.path) : `${envOf(setting.path)} or ${file}`;
}

function sayDefault(value: string | number | boolean | readonly string[]): string {
  return String(value) === '' ? 'Empty by default.' : `Default: ${value}.`;
}
