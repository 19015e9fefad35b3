import { createHash } from 'node:crypto';
import { type ArchivedFile, writeTarGz } from './tar.ts';

interface DebianPackage {
  /** The fields of its control file. */
  readonly control: Readonly<Record<string, string>>;
  readonly files: readonly ArchivedFile[];
  /** Settings that an upgrade does not replace if they were changed. */
  readonly settings: readonly string[];
  /** What dpkg runs, by name. */
  readonly scripts: Readonly<Record<string, string>>;
}

/** A Debian package, as `dpkg-deb` would write it. The same files give the same bytes. */
export function writeDeb({ control, files, settings, scripts }: DebianPackage, epoch: number): Buffer {
  const kilobytes = Math.ceil(files.reduce((sum, { content }) => sum + content.length, 0) / 1024);
  const fields = Object.entries({ ...control, 'Installed-Size': kilobytes });
  const about: ArchivedFile[] = [
    text('control', fields.map(([name, value]) => `${name}: ${value}\n`).join('')),
    text('conffiles', settings.map((path) => `${path}\n`).join('')),
    text('md5sums', files.map(listDigest).join('')),
    ...Object.entries(scripts).map(([name, script]) => ({ ...text(name, script), mode: 0o755 })),
  ];
  return writeAr(
    {
      'debian-binary': Buffer.from('2.0\n'),
      'control.tar.gz': writeTarGz(about, epoch, './'),
      'data.tar.gz': writeTarGz(files, epoch, './'),
    },
    epoch,
  );
}

function text(path: string, content: string): ArchivedFile {
  return { path, content: Buffer.from(content) };
}

function listDigest({ path, content }: ArchivedFile): string {
  return `${createHash('md5').update(content).digest('hex')}  ${path}\n`;
}

function writeAr(members: Readonly<Record<string, Buffer>>, epoch: number): Buffer {
  const parts = Object.entries(members).flatMap(([name, content]) => [
    Buffer.from(
      `${name.padEnd(16)}${String(epoch).padEnd(12)}${'0'.padEnd(6).repeat(2)}${'100644'.padEnd(8)}` +
        `${String(content.length).padEnd(10)}\`\n`,
    ),
    content,
    // Every member starts at an even place.
    Buffer.alloc(content.length % 2, '\n'),
  ]);
  return Buffer.concat([Buffer.from('!<arch>\n'), ...parts]);
}
