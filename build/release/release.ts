import { createHash } from 'node:crypto';
import { existsSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import manifest from '../../package.json' with { type: 'json' };
import { buildExecutable, prepareProgram } from '../executable.ts';
import { findNode, NODES, OWN_PLATFORM } from '../pinned-node.ts';
import { findSource } from '../source.ts';
import { packPythonClient, packTypeScriptClient } from './clients.ts';
import { ARCHITECTURES, writeServerPackage } from './debian.ts';
import { type LeftOut, type MadeFile, saySize, writeNotes } from './notes.ts';
import { describeParts } from './sbom.ts';
import { tryArchive, tryChart, tryPythonClient, trySource, tryTool, tryTypeScriptClient } from './smoke.ts';
import { packSource } from './source-archive.ts';
import { writeTarGz } from './tar.ts';
import { writeZip } from './zip.ts';

/**
 * `npm run release`: makes everything that there is to download, in `dist/release/`. The same commit gives
 * the same bytes on the same machine.
 */
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

const { origin, epoch } = requireSource();
rmSync(FOLDER, { recursive: true, force: true });
mkdirSync(FOLDER, { recursive: true });
const program = await prepareProgram({ origin, isRelease: true });
const nodes: string[] = [];
for (const platform of Object.keys(PLATFORMS)) await makePlatform(platform);
await makeClients();
makeChart();
await makeSource();
describeRelease();
report();

function requireSource() {
  const { origin: found, epoch: seconds, changed } = findSource();
  if (found?.date == null || !existsSync(join(ROOT, '.git'))) {
    throw new Error('A release is made in a git clone, not in an unpacked archive: it packs its commit.');
  }
  if (changed.length > 0) {
    throw new Error(`A release is made from a commit. Commit these first:\n${changed.join('\n')}`);
  }
  if (process.versions.node !== NODES.get(OWN_PLATFORM)?.version) {
    throw new Error(`This is Node ${process.versions.node}, not the pinned one. Use "npm run release".`);
  }
  return { origin: { commit: found.commit, date: found.date }, epoch: seconds };
}

function keep(name: string, content: Uint8Array): string {
  const file = join(FOLDER, name);
  writeFileSync(file, content);
  return file;
}

function list(name: string, about: string, tried: string): void {
  const content = readFileSync(join(FOLDER, name));
  const sha256 = createHash('sha256').update(content).digest('hex');
  made.push({ name, bytes: content.length, sha256, about, tried });
  process.stdout.write(`${name}\n`);
}

async function makePlatform(platform: string): Promise<void> {
  const { about = '', advice, leftOut: reason } = PLATFORMS[platform] ?? {};
  if (reason !== undefined) {
    leftOut.push({ name: about, reason });
    return;
  }
  try {
    findNode(platform);
  } catch (error) {
    // If npm fails, the others are made all the same; a wrong archive ends it all.
    if (!(error instanceof Error && 'status' in error)) throw error;
    leftOut.push({ name: about, reason: `its Node could not be fetched (${error.message.split('\n')[0]}).` });
    return;
  }
  const stem = `berth-${version}-${platform}`;
  const file = buildExecutable(platform, program.assets, join(FOLDER, stem));
  const executable = readFileSync(file);
  rmSync(file);
  nodes.push(`node_modules/${NODES.get(platform)?.name}`);
  const isWindows = platform.startsWith('win-');
  const files = [
    { path: `${stem}/LICENSES.txt`, content: Buffer.from(program.licenses) },
    { path: `${stem}/berth${isWindows ? '.exe' : ''}`, content: executable, mode: 0o755 },
  ];
  const name = `${stem}${isWindows ? '.zip' : '.tar.gz'}`;
  const path = keep(name, (isWindows ? writeZip : writeTarGz)(files, epoch));
  const isOwn = platform === OWN_PLATFORM;
  const expected = `berth ${version} (${origin.commit}, ${origin.date})`;
  list(
    name,
    about,
    isOwn ? await tryArchive(path, stem, expected) : ['not run', advice].filter(Boolean).join('; '),
  );
  const architecture = ARCHITECTURES[platform];
  if (architecture !== undefined) makeDeb(architecture, executable);
}

function makeDeb(architecture: string, executable: Uint8Array): void {
  const name = `berth_${version}_${architecture}.deb`;
  const { licenses } = program;
  const file = keep(name, writeServerPackage({ version, architecture, executable, licenses, epoch }));
  const read = tryTool('dpkg-deb', ['--contents', file]);
  list(name, `Debian and Ubuntu, ${architecture}`, [read, 'not installed'].filter(Boolean).join('; '));
}

async function makeClients(): Promise<void> {
  const archive = packTypeScriptClient(ROOT, FOLDER);
  const tried = await tryTypeScriptClient(join(FOLDER, archive));
  list(archive, 'client for TypeScript and JavaScript: `npm install FILE`', tried);
  const packed = packPythonClient(ROOT, FOLDER);
  if (packed === null) {
    leftOut.push({ name: 'Client for Python', reason: 'this machine has no Python 3.9 or newer.' });
    return;
  }
  list(packed.wheel, 'client for Python: `pip install FILE`', tryPythonClient(join(FOLDER, packed.wheel)));
  list(packed.sdist, 'client for Python, as source', 'not installed');
}

function makeChart(): void {
  const folder = join(ROOT, 'deploy', 'helm');
  const paths = globSync('**/*.*', { cwd: folder });
  const files = paths.map((path) => ({ path, content: readFileSync(join(folder, path)) }));
  const name = `berth-chart-${version}.tgz`;
  const checked = tryChart(keep(name, writeTarGz(files, epoch)));
  const tried = [checked, 'not installed'].filter(Boolean).join('; ');
  list(name, 'Helm chart for several servers on PostgreSQL', tried);
}

async function makeSource(): Promise<void> {
  const stem = `berth-${version}`;
  const name = `${stem}-source.tar.gz`;
  const tried = await trySource(keep(name, packSource(ROOT, stem)), stem, origin.commit);
  list(name, 'the source, with the documentation', tried);
}

function describeRelease(): void {
  const { packages } = program;
  const { commit, date } = origin;
  const parts = describeParts({ version, epoch, commit, packages, nodes, versions: process.versions });
  const sbom = `berth-${version}.cdx.json`;
  keep(sbom, Buffer.from(`${JSON.stringify(parts, null, 2)}\n`));
  list(sbom, 'what is in the executables (CycloneDX 1.6)', '');
  const changelog = readFileSync(join(ROOT, 'CHANGELOG.md'), 'utf8');
  keep('RELEASE.md', Buffer.from(writeNotes({ version, commit, date, changelog, made, leftOut })));
  list('RELEASE.md', 'what changed, what was made and what was tried', '');
  const sums = made.map(({ name, sha256 }) => `${sha256}  ${name}\n`);
  keep('SHA256SUMS', Buffer.from(sums.join('')));
}

function report(): void {
  const width = Math.max(...made.map(({ name }) => name.length));
  const rows = made.map(({ name, bytes, tried }) =>
    `  ${name.padEnd(width)}  ${saySize(bytes).padStart(7)}  ${tried}`.trimEnd(),
  );
  const missing = leftOut.map(({ name, reason }) => `  ${name}: ${reason}`);
  const seconds = Math.round((performance.now() - started) / 1000);
  process.stdout.write(
    `\nBerth ${version} (${origin.commit}, ${origin.date}) in ${FOLDER}, with their sums in SHA256SUMS:\n` +
      `${rows.join('\n')}\n\nNot made:\n${missing.join('\n')}\n\nIt took ${seconds} seconds.\n`,
  );
}
