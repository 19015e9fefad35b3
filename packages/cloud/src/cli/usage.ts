import { ANSWERED, type CommandUsage } from '@berth/shell/console/command-help';
import type { Command } from './command.ts';
import { AIRGAP_COMMANDS } from './commands/airgap-commands.ts';
import { BACKUP_COMMANDS, RESTORE_USAGE } from './commands/backup-commands.ts';
import { CERTIFICATE_COMMANDS } from './commands/certificate-commands.ts';
import { DEVICE_COMMANDS } from './commands/device-commands.ts';
import { KEY_COMMANDS } from './commands/key-commands.ts';
import { LICENSE_COMMANDS } from './commands/license-commands.ts';
import { OFFLINE_COMMANDS } from './commands/offline-commands.ts';
import { SIGNING_KEY_COMMANDS } from './commands/signing-key-commands.ts';

/** A command line command: one that works on the data, or one that runs the cloud. */
export interface Entry extends CommandUsage {
  readonly command: Command | 'serve' | 'demo' | 'restore';
}

const SERVE: Entry = {
  words: 'serve',
  usage:
    '[--port N] [--host H] [--tls-cert FILE --tls-key FILE] [--trusted-proxies LIST] ' +
    '[--log-level LEVEL] [--log-format FORMAT]',
  about: 'run the cloud; on port 8090 by default',
  command: 'serve',
};

const DEMO: Entry = {
  words: 'demo',
  usage: '[--port N] [--host H] [--log-level LEVEL] [--log-format FORMAT]',
  about: 'run a cloud with a demo license until standard input is closed',
  command: 'demo',
};

export const ENTRIES: readonly Entry[] = [
  SERVE,
  DEMO,
  ...[
    ...[...KEY_COMMANDS, ...SIGNING_KEY_COMMANDS, ...LICENSE_COMMANDS, ...OFFLINE_COMMANDS],
    ...[...AIRGAP_COMMANDS, ...CERTIFICATE_COMMANDS, ...DEVICE_COMMANDS],
  ].map((command) => ({ ...command, command })),
  ...BACKUP_COMMANDS.map((command) => ({ ...command, command })),
  { ...RESTORE_USAGE, command: 'restore' },
  ...ANSWERED.map((usage) => ({ ...usage, command: 'serve' as const })),
];

const TO_STOP = () => 'There is no command to stop the cloud. Press Ctrl-C where it runs, or use "kill PID".';

/** Synonyms for our command names. */
export const MEANINGS = {
  nouns: {
    start: 'serve',
    run: 'serve',
    server: 'serve',
    licence: 'license',
    machine: 'device',
    hardware: 'device',
    activation: 'device',
    log: 'event',
    audit: 'event',
    history: 'event',
    policy: 'airgap',
    file: 'offline',
    request: 'offline',
    secret: 'key',
    public: 'public-key',
  },
  answers: {
    stop: TO_STOP,
    shutdown: TO_STOP,
    quit: TO_STOP,
    restart: TO_STOP,
    uninstall: () => 'There is no command for that. docs/install.md explains how to remove Berth.',
  },
} as const;

/** The syntax of --feature. */
export function describeFeatures(): string {
  return `A feature is written as --feature CODE[,WORD=VALUE]…, such as render,slots=2,timeout=10 or
export,consumptions=100,period=monthly,overages=10. The words:

  name, expires                            for every feature
  slots, timeout (minutes), borrow-hours   for one with slots of its own
  consumptions (or unlimited), overages, period, negative   for one that counts`;
}
