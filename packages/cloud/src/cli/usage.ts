import type { Command } from './command.ts';

const SPEC = `SPEC is CODE[,WORD=VALUE]…, with the words name, slots, timeout (minutes) and borrow-hours for a
feature with slots of its own; consumptions (or unlimited), overages, period and negative for one that counts;
and expires. Such as render,slots=2,timeout=10 or export,consumptions=100,period=monthly,overages=10.`;

/** The whole command line on one page. */
export function usage(commands: readonly Command[]): string {
  const line = (words: string, about: string) =>
    words.length > 48 ? `  ${words}\n      ${about}` : `  ${words.padEnd(48)}  ${about}`;
  return [
    'cloud COMMAND [FLAGS]',
    '',
    line(
      '[serve] [--port N] [--host H] [--tls-cert FILE --tls-key FILE] [--trusted-proxies LIST]',
      'run the cloud; port 8090',
    ),
    line('demo', 'run one with a demo license until standard input is closed'),
    ...commands.map((command) =>
      line([command.words, ...command.arguments, command.usage].join(' ').trim(), command.about),
    ),
    '',
    'Every command takes --data DIR (or LICENSING_CLOUD_DATA; default ./cloud-data) and --json, and works',
    'while the cloud is running and while it is not.',
    '',
    'Dates are UTC: 2027-01-31T12:00:00Z, or 2027-01-31. A date without a time means the end of that day for',
    '--valid-until, --until and expires, and its start for --starts-at.',
    '',
    SPEC,
  ].join('\n');
}
