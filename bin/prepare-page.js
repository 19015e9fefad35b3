// Plain JavaScript, like berth.js: `npm start` runs it first. It builds the administrator's page if it is
// missing or older than its sources. The server works without it, so nothing here may keep it from starting.
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));

// A server that was installed without development packages, or from a package, has what it was given.
if (existsSync(join(root, 'node_modules', 'esbuild'))) {
  try {
    const { makePage } = await import('../build/page.ts');
    await makePage();
    // esbuild keeps a process of its own for further builds.
    process.exit();
  } catch (error) {
    process.stderr.write(`The administrator's page could not be built: ${error.message}\n`);
  }
}
