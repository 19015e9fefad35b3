import assert from 'node:assert/strict';
import { runCli } from '@berth/cloud/cli/cli';
import type { Terminal } from '@berth/cloud/cli/terminal';
import { render } from '@berth/shell/console/console-text';
import { cloudFolder } from './test-cloud.ts';

interface TestLife {
  after(work: () => unknown): void;
}

interface Ran {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

interface Heard {
  readonly out?: string[];
  readonly err?: string[];
  /** The secret to enter, or what to do when asked for it. */
  readonly secret?: string | (() => never);
}

/** Records the output and enters a secret. */
export function createTestTerminal({ out = [], err = [], secret = '' }: Heard = {}): Terminal {
  const screen = { isTerminal: false, hasColor: false };
  const complain = (line: string) => void err.push(line);
  return {
    screen,
    errorScreen: screen,
    print: (line) => void out.push(render(line, screen)),
    complain,
    warn: complain,
    fail: complain,
    log: complain,
    draw: (picture) => void out.push(picture),
    columns: null,
    readSecret: async () => (typeof secret === 'string' ? secret : secret()),
  };
}

/** The command line with a separate data folder, as a function. */
export function createCommandLine(t: TestLife, data = cloudFolder(t)) {
  return async (words: string, secret: Heard['secret'] = ''): Promise<Ran> => {
    const out: string[] = [];
    const err: string[] = [];
    const terminal = createTestTerminal({ out, err, secret });
    const argv = Array.from(words.matchAll(/'([^']*)'|(\S+)/g), ([, quoted, plain]) => quoted ?? plain ?? '');
    const code = await runCli(argv, {
      program: 'cloud',
      home: data,
      env: { LICENSING_CLOUD_DATA: data },
      terminal,
    });
    return { code, out: out.join('\n'), err: err.join('\n') };
  };
}

export type Run = ReturnType<typeof createCommandLine>;

/** The parsed output of `--json`. */
export async function ask(run: Run, words: string, secret?: string) {
  const { code, out, err } = await run(`${words} --json`, secret);
  assert.equal(code, 0, err);
  return JSON.parse(out);
}
