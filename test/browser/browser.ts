import { type Browser, chromium } from 'playwright-core';
import { ensureTool, findCommand } from '../support/install-tools.ts';

/** Without a sandbox, as tests often run as root in a container, and without anything that calls home. */
const ARGS = ['--no-sandbox', '--disable-gpu', '--disable-background-networking'];

/** The first one has nothing to show on a screen, and takes a third less of the processor. */
const PROGRAMS = ['chromium-headless-shell', 'chromium'] as const;

/**
 * The Chromium of the system's packages, with further words of its command line; `null` where it is missing
 * and cannot be installed.
 */
export async function startBrowser(...words: readonly string[]): Promise<Browser | null> {
  for (const program of PROGRAMS) {
    await ensureTool(program);
    const executablePath = findCommand(program);
    if (executablePath !== undefined) return chromium.launch({ executablePath, args: [...ARGS, ...words] });
  }
  return null;
}
