import { fileURLToPath } from 'node:url';

/** One command of a documentation page and what the page says it prints. */
interface ConsoleStep {
  readonly command: string;
  readonly expected: string;
}

/** The steps of all ```console blocks of a page, in order. A line that starts with "$ " is a command. */
export function readConsoleSteps(page: string): readonly ConsoleStep[] {
  const blocks = [...page.matchAll(/```console\n([\s\S]*?)```/g)].map((match) => match[1] as string);
  return blocks.flatMap((block) =>
    block
      .split(/^\$ /m)
      .slice(1)
      .map((step) => {
        const [command, ...output] = step.split('\n');
        return { command: command as string, expected: output.join('\n').trimEnd() };
      }),
  );
}

const LAUNCHER = fileURLToPath(new URL('../../berth', import.meta.url));

/** The command for any folder: a page is read in that of Berth, where `./berth` is. */
export function toAnyFolder(command: string): string {
  return command.replaceAll('./berth ', `${LAUNCHER} `);
}

const TIMESTAMP = /\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z/g;

/** What the page prints as a pattern: `…` stands for anything, and every date for any date. */
export function toPattern(expected: string): RegExp {
  const escaped = expected.replace(TIMESTAMP, '@date@').replace(/[\\^$.*+?()[\]{}|]/g, '\\$&');
  const open = escaped.replaceAll('…', '[\\s\\S]*').replaceAll('@date@', TIMESTAMP.source);
  return new RegExp(`^${open}$`);
}
