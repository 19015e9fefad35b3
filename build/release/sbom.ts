import { createHash } from 'node:crypto';
import { getLocked, namePackage } from '../locked-package.ts';

interface ProgramFacts {
  readonly version: string;
  /** Of the release, in seconds. */
  readonly epoch: number;
  /** Null where it is unknown. */
  readonly commit: string | null;
  /** The folders of the packages in the executables. */
  readonly packages: readonly string[];
  /** The folders of the packages with Node, one for each platform. */
  readonly nodes: readonly string[];
  /** The versions of Node and of what is in it, as `process.versions` says. */
  readonly versions: Readonly<Record<string, string | undefined>>;
}

/** Versions of interfaces and of data. */
const NO_SOFTWARE = ['node', 'modules', 'napi', 'unicode', 'cldr', 'tz'];

/** What the executables are made of, in the format CycloneDX 1.6. */
export function describeParts({ version, epoch, commit, packages, nodes, versions }: ProgramFacts) {
  const own = {
    type: 'application',
    'bom-ref': `pkg:generic/berth@${version}`,
    name: 'berth',
    version,
    licenses: [{ license: { id: 'MIT' } }],
    purl: `pkg:generic/berth@${version}`,
    ...(commit === null ? {} : { properties: [{ name: 'berth:commit', value: commit }] }),
  };
  const libraries = packages.map((folder) => ({ type: 'library', ...describePackage(folder) }));
  const node = describeNode(nodes, versions);
  return {
    $schema: 'http://cyclonedx.org/schema/bom-1.6.schema.json',
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    serialNumber: `urn:uuid:${makeUuid(`berth ${version} ${commit} ${epoch}`)}`,
    version: 1,
    metadata: { timestamp: new Date(epoch * 1000).toISOString(), component: own },
    components: [node, ...libraries],
    dependencies: [
      { ref: own['bom-ref'], dependsOn: [node, ...libraries].map((part) => part['bom-ref']) },
      ...[node, ...libraries].map((part) => ({ ref: part['bom-ref'] })),
    ],
  };
}

function describePackage(folder: string) {
  const { version, integrity, license } = getLocked(folder);
  const name = namePackage(folder);
  const purl = `pkg:npm/${name.replace('@', '%40')}@${version}`;
  return {
    'bom-ref': purl,
    name,
    version,
    hashes: [
      { alg: 'SHA-512', content: Buffer.from(integrity.slice('sha512-'.length), 'base64').toString('hex') },
    ],
    ...(license === undefined ? {} : { licenses: [describeLicense(license)] }),
    purl,
  };
}

/** More than one license is an expression. */
function describeLicense(license: string) {
  return /^[\w.-]+$/.test(license) ? { license: { id: license } } : { expression: license };
}

function describeNode(nodes: readonly string[], versions: ProgramFacts['versions']) {
  const { node: version = '' } = versions;
  const inside = Object.entries(versions).filter(([name, one]) => one && !NO_SOFTWARE.includes(name));
  return {
    type: 'platform',
    'bom-ref': `pkg:generic/node@${version}`,
    name: 'node',
    version,
    licenses: [{ license: { id: 'MIT' } }],
    cpe: `cpe:2.3:a:nodejs:node.js:${version}:*:*:*:*:*:*:*`,
    purl: `pkg:generic/node@${version}`,
    components: [
      ...nodes.map((folder) => ({ type: 'file', ...describePackage(folder) })),
      ...inside.map(([name, one]) => ({
        type: 'library',
        'bom-ref': `node/${name}`,
        name,
        version: one,
        purl: `pkg:generic/${name}@${one}`,
      })),
    ],
  };
}

/** The same text gives the same id (RFC 9562, version 8). */
function makeUuid(text: string): string {
  const bytes = createHash('sha256').update(text).digest().subarray(0, 16);
  bytes.writeUInt8(((bytes[6] ?? 0) & 0x0f) | 0x80, 6);
  bytes.writeUInt8(((bytes[8] ?? 0) & 0x3f) | 0x80, 8);
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}
