import { envOf, flagOf } from '../config.ts';
import { SETTINGS } from '../settings.ts';
import type { Command } from './command.ts';

const WORDS_WIDTH = 34;

/** The whole command line on one page. */
export function usage(commands: readonly Command[]): string {
  const line = (words: string, about: string) =>
    words.length > WORDS_WIDTH
      ? `  ${words}\n${' '.repeat(WORDS_WIDTH + 4)}${about}`
      : `  ${words.padEnd(WORDS_WIDTH)}  ${about}`;
  return [
    'berth COMMAND [FLAGS]',
    '',
    line('serve [--demo | --demo-cloud]', 'run the server; --demo adds a demo license to an empty store,'),
    line('', '--demo-cloud starts a licensing cloud beside it and adds a license from there'),
    ...commands.map((command) =>
      line([command.words, ...command.arguments, command.flags].join(' '), command.about),
    ),
    '',
    'Every command takes --json, and works with the server running or stopped ("key import" and',
    '"migrate-store": stopped, "events": running).',
    '',
    'Settings (flag, or environment variable, or name in berth.yaml):',
    ...SETTINGS.map(({ path, default: value, about }) =>
      [`  --${flagOf(path)}, ${envOf(path)}`, `      ${path}: ${about} ${sayDefault(value)}`].join('\n'),
    ),
    line('--config FILE', 'read settings from FILE instead of ./berth.yaml'),
  ].join('\n');
}

function sayDefault(value: string | number | boolean | readonly string[]): string {
  return String(value) === '' ? 'Empty by default.' : `Default: ${value}.`;
}
