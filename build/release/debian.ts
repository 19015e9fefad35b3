import { readFileSync } from 'node:fs';
import { writeUnit } from '../../packages/server/src/cli/service/systemd.ts';
import { writeDeb } from './deb.ts';
import type { ArchivedFile } from './tar.ts';

/** Debian's names of processors. */
export const ARCHITECTURES: Readonly<Record<string, string>> = {
  'linux-x64': 'amd64',
  'linux-arm64': 'arm64',
};

const DATA = '/var/lib/berth/data';
const SETTINGS = '/etc/berth/berth.yaml';

interface PackageFacts {
  readonly version: string;
  readonly architecture: string;
  readonly executable: Uint8Array;
  readonly licenses: string;
  readonly epoch: number;
}

/** The package `berth`: the executable as a service of systemd, with its settings in `/etc/berth`. */
export function writeServerPackage({
  version,
  architecture,
  executable,
  licenses,
  epoch,
}: PackageFacts): Buffer {
  const facts = { program: ['/usr/bin/berth'], args: ['--data', DATA], data: DATA, folders: [], port: 8080 };
  const files: readonly ArchivedFile[] = [
    { path: 'usr/bin/berth', content: executable, mode: 0o755 },
    { path: SETTINGS.slice(1), content: readFileSync(locate('berth.yaml')), mode: 0o640 },
    toFile('usr/lib/systemd/system/berth.service', writeUnit(facts, 'The package berth replaces this file.')),
    toFile('usr/share/doc/berth/copyright', licenses),
  ];
  const control = {
    Package: 'berth',
    Version: version,
    Architecture: architecture,
    Maintainer: 'Berth developers <berth@localhost>',
    Section: 'net',
    Priority: 'optional',
    Depends: 'libc6 (>= 2.28), libstdc++6 (>= 5), libgcc-s1 | libgcc1, libatomic1, passwd',
    Description: 'on-premise floating license server',
  };
  const scripts = ['postinst', 'prerm', 'postrm'].map((name) => [name, readFileSync(locate(name), 'utf8')]);
  return writeDeb({ control, files, settings: [SETTINGS], scripts: Object.fromEntries(scripts) }, epoch);
}

function locate(name: string): URL {
  return new URL(`../../deploy/debian/${name}`, import.meta.url);
}

function toFile(path: string, text: string): ArchivedFile {
  return { path, content: Buffer.from(text) };
}
