import { parseArgs } from 'node:util';
import { formatTable } from '@berth/shell/console/console-text';
import { NoSubject, type Options, type Result, runChecks } from './run-checks.ts';

const USAGE = `npm run conformance -- URL [options]

Checks whether a server speaks the floating license API v4 as its clients expect it. It takes and returns
slots, and counts a few units of consumption.

  --product CODE      the product to use, if the server has several
  --license-id ID     one license of it
  --token TOKEN       for a server whose clients authenticate
  --user NAME --password P    an account, to check GET /auth
  --alone             nobody else uses the server: also check what ends all slots`;

const FLAGS = {
  product: { type: 'string' },
  'license-id': { type: 'string' },
  token: { type: 'string' },
  user: { type: 'string' },
  password: { type: 'string' },
  alone: { type: 'boolean' },
  help: { type: 'boolean' },
} as const;

function readOptions(args: readonly string[]): Options | null {
  const { values, positionals } = parseArgs({ args: [...args], options: FLAGS, allowPositionals: true });
  const [url] = positionals;
  if (url === undefined || positionals.length > 1 || values.help === true || !URL.canParse(url)) return null;
  const { product = null, 'license-id': id, token = null, user, password = '' } = values;
  const basic = user === undefined ? null : `${user}:${password}`;
  const licenseId = id === undefined ? null : Number(id);
  return { url, product, licenseId, token, basic, isAlone: values.alone === true };
}

/** The table, and below it what was sent and received where something is wrong. */
function showResults(results: readonly Result[]): string {
  const failed = results.filter(({ wrong }) => wrong !== null);
  const skipped = results.filter(({ skipped: reason }) => reason !== null);
  const rows = results.map(({ call, what, wrong, skipped: reason }) => [
    wrong !== null ? 'FAIL' : reason !== null ? 'skip' : 'pass',
    call,
    reason === null ? what : `${what} (${reason})`,
  ]);
  const details = failed.map(
    ({ call, what, wrong, sent, received }) =>
      `${call}: ${what}\n  wrong:    ${wrong}\n  sent:     ${sent}\n  received: ${received}`,
  );
  const passed = results.length - failed.length - skipped.length;
  const sum = `${passed} passed, ${failed.length} failed, ${skipped.length} skipped`;
  return [formatTable(['result', 'call', 'what'], rows), ...details, sum].join('\n\n');
}

/** Returns the exit code: 1 if something is wrong, 2 if nothing could be checked. */
export async function checkServer(
  args: readonly string[],
  print: (text: string) => void,
  complain: (text: string) => void,
): Promise<number> {
  try {
    const options = readOptions(args);
    if (options === null) throw new NoSubject(USAGE);
    const results = await runChecks(options);
    print(showResults(results));
    return results.some(({ wrong }) => wrong !== null) ? 1 : 0;
  } catch (error) {
    if (!(error instanceof NoSubject) && !isUsageError(error)) throw error;
    complain((error as Error).message);
    return 2;
  }
}

function isUsageError(error: unknown): boolean {
  return String((error as { code?: unknown }).code).startsWith('ERR_PARSE_ARGS');
}

if (import.meta.main) {
  void checkServer(process.argv.slice(2), console.log, console.error).then((code) => {
    process.exitCode = code;
  });
}
