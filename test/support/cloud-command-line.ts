import assert from 'node:assert/strict';
import { runCli } from '@berth/cloud/cli/cli';
import { cloudFolder } from './test-cloud.ts';

interface TestLife {
  after(work: () => unknown): void;
}

interface Ran {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** The command line on a folder of its own, as a function. */
export function createCommandLine(t: TestLife, data = cloudFolder(t)) {
  return async (words: string, secret = ''): Promise<Ran> => {
    const out: string[] = [];
    const err: string[] = [];
    const terminal = {
      print: (line: string) => void out.push(line),
      complain: (line: string) => void err.push(line),
      readSecret: async () => secret,
      draw: (picture: string) => void out.push(picture),
      columns: null,
    };
    const argv = Array.from(words.matchAll(/'([^']*)'|(\S+)/g), ([, quoted, plain]) => quoted ?? plain ?? '');
    const code = await runCli(argv, { env: { LICENSING_CLOUD_DATA: data }, terminal });
    return { code, out: out.join('\n'), err: err.join('\n') };
  };
}

export type Run = ReturnType<typeof createCommandLine>;

/** What `--json` prints. */
export async function ask(run: Run, words: string, secret?: string) {
  const { code, out, err } = await run(`${words} --json`, secret);
  assert.equal(code, 0, err);
  return JSON.parse(out);
}
