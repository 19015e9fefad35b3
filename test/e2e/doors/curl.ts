import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const run = promisify(execFile);

export interface CurlAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

/** Nothing of the machine's own settings: no .curlrc, no proxy. A call that takes longer hangs. */
const ALWAYS = ['-q', '-s', '-S', '-i', '--noproxy', '*', '--max-time', '60'];

/** A real curl, in another network where `under` says so; one that gets no answer at all is an error. */
export async function curl(words: readonly string[], under: readonly string[] = []): Promise<CurlAnswer> {
  const [command, ...rest] = [...under, 'curl', ...ALWAYS, ...words] as [string, ...string[]];
  const { stdout } = await run(command, rest);
  const end = stdout.indexOf('\r\n\r\n');
  const [first = '', ...lines] = stdout.slice(0, end).split('\r\n');
  const headers = new Headers(lines.map((line) => line.split(/: */, 2) as [string, string]));
  return { status: Number(first.split(' ')[1]), headers, text: stdout.slice(end + 4) };
}
