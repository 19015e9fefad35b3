import { cpSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { temporaryFolder } from './server-process.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const COPIED = [
  'bin',
  'build',
  'clients',
  'packages',
  'test',
  'package.json',
  'package-lock.json',
  'tsconfig.json',
  'LICENSE',
  'berth',
];
const LEFT_OUT = ['node_modules', 'screenshots', '__pycache__'];

/** A copy of the project in which programs and tests run as they do here, to be changed at will. */
export class CheckoutCopy {
  readonly folder: string;

  constructor(life: { after(work: () => void): void }) {
    this.folder = temporaryFolder(life, { hasPrograms: true });
    for (const name of COPIED) {
      cpSync(join(ROOT, name), join(this.folder, name), {
        recursive: true,
        filter: (path) => !LEFT_OUT.some((part) => path.split(sep).includes(part)),
      });
    }
    linkPackages(this.folder);
  }

  read(path: string): string {
    return readFileSync(join(this.folder, path), 'utf8');
  }

  write(path: string, text: string): void {
    writeFileSync(join(this.folder, path), text);
  }
}

/** Installed packages are linked; our own are those of the copy. */
function linkPackages(folder: string): void {
  const modules = join(folder, 'node_modules');
  mkdirSync(join(modules, '@berth'), { recursive: true });
  for (const name of readdirSync(join(ROOT, 'node_modules'))) {
    if (name === '@berth') continue;
    symlinkSync(join(ROOT, 'node_modules', name), join(modules, name));
  }
  for (const name of readdirSync(join(ROOT, 'node_modules', '@berth'))) {
    symlinkSync(join(folder, 'packages', name), join(modules, '@berth', name));
  }
}
