/** A file of the release, and what we know about it. */
export interface MadeFile {
  readonly name: string;
  readonly bytes: number;
  readonly sha256: string;
  readonly about: string;
  /** What was done with it in this run. */
  readonly tried: string;
}

export interface LeftOut {
  readonly name: string;
  readonly reason: string;
}

interface NotesFacts {
  readonly version: string;
  readonly commit: string;
  readonly date: string;
  readonly changelog: string;
  readonly made: readonly MadeFile[];
  readonly leftOut: readonly LeftOut[];
}

/** The notes of a release: what changed, what there is to download, and what was tried and what was not. */
export function writeNotes({ version, commit, date, changelog, made, leftOut }: NotesFacts): string {
  const rows = made.map(
    ({ name, bytes, about, tried }) => `| \`${name}\` | ${saySize(bytes)} | ${about} | ${tried} |`,
  );
  return [
    `# Berth ${version}`,
    '',
    `Made from commit ${commit} of ${date}. The same commit gives the same bytes on the same machine.`,
    '',
    ...describeStart(version),
    '## Files',
    '',
    '| file | size | what it is | tried |',
    '|---|---:|---|---|',
    ...rows,
    '',
    ...(leftOut.length === 0
      ? []
      : ['Not made:', '', ...leftOut.map(({ name, reason }) => `- **${name}**: ${reason}`), '']),
    '## Changes',
    '',
    findChanges(changelog, version),
    '',
  ].join('\n');
}

/** A reader may have nothing but the files. */
function describeStart(version: string): readonly string[] {
  const folder = `berth-${version}-linux-x64`;
  return [
    '## Start',
    '',
    'On Linux on x64, in the folder with the files:',
    '',
    '```',
    'sha256sum --check --ignore-missing SHA256SUMS',
    `tar -xzf ${folder}.tar.gz`,
    `${folder}/berth serve --demo --data ~/berth-data`,
    '```',
    '',
    'The last command prints the address to open in a browser, and the one-time password that the page asks',
    'for; Ctrl-C stops the server. Give the same `--data` to every command, such as',
    `\`${folder}/berth status --data ~/berth-data\`: the data is then outside of the`,
    "program's folder, where the next version finds it. Leave out `--demo` if you have a license. If",
    '`libatomic.so.1` is missing, install it (Debian, as root: `apt-get install libatomic1`).',
    '',
    '`SHA256SUMS` is not signed: it detects damaged files, not forged ones.',
    '',
    `**Documentation** is in \`berth-${version}-source.tar.gz\`: unpack it, and begin with`,
    'its `README.md`. Its `docs/install.md` covers services, the Debian package, containers and upgrades.',
    '',
    '**To repeat a row** of its `docs/reliability.md`, run the command of the row in the unpacked source:',
    '',
    '```',
    'npm ci',
    'npm run faults -- bitrot --seed 33',
    '```',
    '',
    'That needs Node 20 or newer, and npm with a registry. Each row names the commit that it was run on,',
    'which may be older than this release. `npm run release` needs a git clone instead.',
    '',
  ];
}

export function saySize(bytes: number): string {
  return bytes < 1e6 ? `${Math.ceil(bytes / 1e3)} kB` : `${(bytes / 1e6).toFixed(1)} MB`;
}

/** The section of a version in the changelog. */
function findChanges(changelog: string, version: string): string {
  const sections = changelog.split(/^## /m);
  const found = sections.find(
    (section) => section.startsWith(`${version} `) || section.startsWith(`${version}\n`),
  );
  if (found === undefined) throw new Error(`CHANGELOG.md has no section "## ${version}".`);
  return found.slice(found.indexOf('\n')).trim();
}
