import { fileURLToPath } from 'node:url';

/** How Berth was started. */
interface Launch {
  /** The command as the user typed it, such as `./berth`. */
  readonly program: string;
  /** The folder in which the data folders and `berth.yaml` are by default. */
  readonly home: string;
}

/** The only file that knows both programs: runs `berth …`, or `berth cloud …` and `berth help cloud …`. */
export async function run(words: readonly string[], { program, home }: Launch): Promise<void> {
  const [first, second, ...rest] = words;
  if (first === 'help' && second === 'cloud') return run(['cloud', 'help', ...rest], { program, home });
  if (first === 'cloud') {
    const { main } = await import('../packages/cloud/src/main.ts');
    return main(words.slice(1), { program: `${program} cloud`, home });
  }
  const { main } = await import('../packages/server/src/main.ts');
  return main(words, { program, home, self: [process.execPath, fileURLToPath(import.meta.url)] });
}

if (import.meta.main) void run(process.argv.slice(2), { program: 'berth', home: process.cwd() });
