import { envOf, flagOf, SETTINGS } from '../config.ts';
import type { Command } from './command.ts';

/** The whole command line on one page. */
export function usage(commands: readonly Command[]): string {
  const line = (words: string, about: string) => `  ${words.padEnd(34)}  ${about}`;
  return [
    'berth COMMAND [FLAGS]',
    '',
    line('serve [--demo]', 'run the server; --demo adds a demo license to an empty store'),
    ...commands.map((command) =>
      line([command.words, ...command.arguments, command.flags].join(' '), command.about),
    ),
    '',
    'Every command takes --json, and works with the server running and stopped.',
    '',
    'Settings (flag, or environment variable, or name in berth.yaml):',
    ...SETTINGS.map(({ path, default: value, about }) =>
      line(`--${flagOf(path)}, ${envOf(path)}`, `\n      ${path}: ${about} Default: ${value}.`).replace(
        / +\n/,
        '\n',
      ),
    ),
    line('--config FILE', 'read settings from FILE instead of ./berth.yaml'),
  ].join('\n');
}
