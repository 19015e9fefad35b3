import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const run = promisify(execFile);

export interface CurlAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

/** Nothing of the machine's own settings: no .curlrc, no proxy. A call that takes longer hangs. */
const ALWAYS = ['-s', '-S', '-i', '--noproxy', '*', '--max-time', '60'];

/** Written after each answer. */
const MARK = '\n--- the end of an answer ---\n';

/** A real curl, in another network where `under` says so; one that gets no answer at all is an error. */
export async function curl(words: readonly string[], under: readonly string[] = []): Promise<CurlAnswer> {
  return (await curlAll([words], under))[0] as CurlAnswer;
}

/** The same for several requests, one after the other, from one process. */
export async function curlAll(
  requests: readonly (readonly string[])[],
  under: readonly string[] = [],
): Promise<readonly CurlAnswer[]> {
  const each = requests.map((words) => [...ALWAYS, '-w', MARK, ...words]);
  const all = each.flatMap((words, index) => (index === 0 ? words : ['--next', ...words]));
  const [command, ...rest] = [...under, 'curl', '-q', ...all] as [string, ...string[]];
  const { stdout } = await run(command, rest);
  const texts = stdout.split(MARK).slice(0, -1);
  assert.equal(texts.length, requests.length, stdout);
  return texts.map(readAnswer);
}

function readAnswer(printed: string): CurlAnswer {
  const end = printed.indexOf('\r\n\r\n');
  const [first = '', ...lines] = printed.slice(0, end).split('\r\n');
  const headers = new Headers(lines.map((line) => line.split(/: */, 2) as [string, string]));
  return { status: Number(first.split(' ')[1]), headers, text: printed.slice(end + 4) };
}
