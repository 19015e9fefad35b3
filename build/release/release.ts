import { createHash } from 'node:crypto';
import { globSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import manifest from '../../package.json' with { type: 'json' };
import { buildExecutable, prepareProgram } from '../executable.ts';
import { NODES, OWN_PLATFORM } from '../pinned-node.ts';
import { findSource } from '../source.ts';
import { writeTarGz, writeZip } from './archive.ts';
import { packPythonClient, packTypeScriptClient } from './clients.ts';
import { ARCHITECTURES, writeServerPackage } from './debian.ts';
import { type LeftOut, type MadeFile, sayMegabytes, writeNotes } from './notes.ts';
import { describeParts } from './sbom.ts';
import { tryArchive } from './smoke.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const FOLDER = join(ROOT, 'dist', 'release');
const { version } = manifest;

/** What the executables are for. `leftOut`: why there is none. */
const PLATFORMS: Readonly<Record<string, { about: string; advice?: string; leftOut?: string }>> = {
  'linux-x64': { about: 'Linux with glibc 2.28 or newer, x64' },
  'linux-arm64': { about: 'Linux with glibc 2.28 or newer, arm64' },
  'darwin-arm64': {
    about: 'macOS on Apple silicon',
    advice: 'not signed: `codesign --sign - berth` before the first start',
  },
  'darwin-x64': {
    about: 'macOS on Intel',
    leftOut: 'executables that Node makes for it crash when they start (nodejs/node issue 65479).',
  },
  'win-x64': { about: 'Windows, x64', advice: 'not signed' },
  'win-arm64': {
    about: 'Windows on ARM',
    leftOut: 'the registry does not have this version of Node for it. Windows 11 runs the one for x64.',
  },
};

const started = performance.now();
const made: MadeFile[] = [];
const leftOut: LeftOut[] = [];

/** Files get the mode of a download, whatever the user who runs this usually gives to files. */
function keep(name: string, content: Uint8Array, about: string, tried: string): void {
  writeFileSync(join(FOLDER, name), content);
  made.push({ name, bytes: content.length, about, tried });
  process.stdout.write(`${name}\n`);
}

const source = findSource();
const { origin, epoch } = source;
if (origin === null) throw new Error('A release is made from a git repository: its commit is in every file.');
if (source.changed.length > 0) {
  throw new Error(`A release is made from a commit. Commit these first:\n${source.changed.join('\n')}`);
}
if (process.versions.node !== NODES.get(OWN_PLATFORM)?.version) {
  throw new Error(`This is Node ${process.versions.node}, not the pinned one. Use "npm run release".`);
}
rmSync(FOLDER, { recursive: true, force: true });
mkdirSync(FOLDER, { recursive: true });

const program = await prepareProgram({ ...source, isRelease: true });
for (const platform of Object.keys(PLATFORMS)) await makePlatform(platform);
makeClients();
const chart = globSync('**/*.{yaml,yml,tpl,txt,json}', { cwd: join(ROOT, 'deploy', 'helm') }).sort();
keep(
  `berth-chart-${version}.tgz`,
  writeTarGz(
    chart.map((path) => ({ path, content: readFileSync(join(ROOT, 'deploy', 'helm', path)) })),
    epoch,
  ),
  'Helm chart for several servers on PostgreSQL',
  'not installed',
);
finish();

async function makePlatform(platform: string): Promise<void> {
  const { about = '', advice, leftOut: reason } = PLATFORMS[platform] ?? {};
  if (reason !== undefined) {
    leftOut.push({ name: about, reason });
    return;
  }
  const stem = `berth-${version}-${platform}`;
  const file = buildExecutable(platform, program.assets, join(FOLDER, stem));
  const executable = readFileSync(file);
  rmSync(file);
  const end = file.endsWith('.exe') ? '.exe' : '';
  const files = [
    { path: `${stem}/LICENSES.txt`, content: Buffer.from(program.licenses) },
    { path: `${stem}/berth${end}`, content: executable, mode: 0o755 },
  ];
  const name = end === '' ? `${stem}.tar.gz` : `${stem}.zip`;
  const archive = end === '' ? writeTarGz(files, epoch) : writeZip(files, epoch);
  writeFileSync(join(FOLDER, name), archive);
  const expected = `berth ${version} (${origin?.commit}, ${origin?.date})`;
  const tried =
    platform === OWN_PLATFORM
      ? await tryArchive(join(FOLDER, name), stem, expected)
      : ['not run', advice].filter(Boolean).join('; ');
  keep(name, archive, about, tried);
  const architecture = ARCHITECTURES[platform];
  if (architecture === undefined) return;
  const deb = writeServerPackage({ version, architecture, executable, licenses: program.licenses, epoch });
  keep(`berth_${version}_${architecture}.deb`, deb, `Debian and Ubuntu, ${architecture}`, 'not installed');
}

function makeClients(): void {
  const add = (name: string, about: string) => {
    keep(name, readFileSync(join(FOLDER, name)), about, 'see `npm test`');
  };
  add(packTypeScriptClient(ROOT, FOLDER), 'client for TypeScript and JavaScript: `npm install FILE`');
  try {
    const [wheel = '', sdist = ''] = packPythonClient(ROOT, FOLDER, epoch);
    add(wheel, 'client for Python: `pip install FILE`');
    add(sdist, 'client for Python, as source');
  } catch (error) {
    leftOut.push({ name: 'Client for Python', reason: `it needs Python 3.9: ${(error as Error).message}` });
  }
}

function finish(): void {
  const nodes = Object.keys(PLATFORMS)
    .filter((platform) => PLATFORMS[platform]?.leftOut === undefined)
    .map((platform) => NODES.get(platform)?.name ?? '');
  const { packages } = program;
  const { commit, date } = origin as { commit: string; date: string };
  const sbom = describeParts({ version, epoch, commit, packages, nodes, versions: process.versions });
  const text = `${JSON.stringify(sbom, null, 2)}\n`;
  keep(`berth-${version}.cdx.json`, Buffer.from(text), 'what is in the executables (CycloneDX 1.6)', '');
  const changelog = readFileSync(join(ROOT, 'CHANGELOG.md'), 'utf8');
  const notes = writeNotes({ version, commit, date, changelog, made, leftOut });
  keep('RELEASE.md', Buffer.from(notes), 'these notes', '');
  const sums = made
    .map(({ name }) => name)
    .sort()
    .map((name) => `${digest(join(FOLDER, name))}  ${name}\n`);
  writeFileSync(join(FOLDER, 'SHA256SUMS'), sums.join(''));
  report();
}

function digest(file: string): string {
  return createHash('sha256').update(readFileSync(file)).digest('hex');
}

/** A table of what was made. */
function report(): void {
  const names = made.map(({ name }) => name);
  const width = Math.max(...names.map(({ length }) => length));
  const rows = made.map(({ name, bytes, tried }) =>
    `  ${name.padEnd(width)}  ${sayMegabytes(bytes).padStart(6)} MB  ${tried}`.trimEnd(),
  );
  const missing = leftOut.map(({ name, reason }) => `  ${name}: ${reason}`);
  const seconds = Math.round((performance.now() - started) / 1000);
  const { size } = statSync(join(FOLDER, 'SHA256SUMS'));
  process.stdout.write(
    `\nBerth ${version} (${origin?.commit}) in ${FOLDER}:\n${rows.join('\n')}\n` +
      `  ${'SHA256SUMS'.padEnd(width)}  ${sayMegabytes(size).padStart(6)} MB\n\n` +
      `Not made:\n${missing.join('\n')}\n\n${seconds} seconds.\n`,
  );
}
