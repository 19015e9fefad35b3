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
    '## Files',
    '',
    'Check what you downloaded with `sha256sum --check --ignore-missing SHA256SUMS`. How to install it is in',
    '`docs/install.md`. To repeat a line of `docs/reliability.md`, unpack the source and run in its folder:',
    '`npm ci && npm run faults -- pause --seed 33`.',
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
