import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { brotliDecompressSync } from 'node:zlib';
import type { Facts } from '../support/berth-api.ts';
import { findProgram, type Program } from '../support/program.ts';
import { temporaryFolder } from '../support/server-process.ts';
import type { Asked } from './facts.ts';
import type { Known } from './known.ts';
import { unpackFolder, unpackTexts } from './packed-folder.ts';
import { Site } from './site.ts';

const FOLDER = fileURLToPath(new URL('.', import.meta.url));

interface Life {
  after(work: () => unknown): void;
}

/** The data that was taken, by how the server ended or where it was. */
export type Kind = 'stopped' | 'killed' | 'postgres';

/** Nobody listens there, unless a test does. */
export const RECEIVERS: { readonly [K in Kind]: string } = {
  stopped: 'http://127.82.1.1:31721',
  killed: 'http://127.82.1.1:31721',
  postgres: 'http://127.82.1.2:31722',
};

/** What the released version answered about its data just before it was taken. */
interface Taken {
  readonly commit: string;
  readonly known: Known;
  readonly answers: Readonly<Record<Kind, Answers>>;
}

interface Answers {
  readonly asked: Asked;
  readonly facts: Facts;
}

/** A released version: its programs, packages and data, all made by its own commit. */
export class Release {
  readonly version: string;

  constructor(version: string) {
    this.version = version;
  }

  static list(): readonly Release[] {
    const entries = readdirSync(FOLDER, { withFileTypes: true });
    const versions = entries.filter((entry) => entry.isDirectory() && /^\d/.test(entry.name));
    return versions.map(({ name }) => new Release(name));
  }

  path(name: string): string {
    return join(FOLDER, this.version, name);
  }

  readTaken(): Taken {
    return JSON.parse(brotliDecompressSync(readFileSync(this.path('taken.json.br'))).toString('utf8'));
  }

  /** Its server, command line and cloud. */
  unpackProgram(life: Life): Program {
    const folder = temporaryFolder(life);
    const { 'berth.cjs': text = '', ...files } = unpackTexts(this.path('program.json.br'));
    const [carried, program] = [join(folder, 'files.json'), join(folder, 'berth.cjs')];
    writeFileSync(carried, JSON.stringify(files));
    const read = `JSON.parse(require('node:fs').readFileSync(${JSON.stringify(carried)}, 'utf8'))`;
    writeFileSync(program, `const BUNDLED_FILES = ${read};\n${text}`);
    return findProgram(program);
  }

  /** A copy of its `berth.yaml` with its data, or with the master key alone. */
  unpackSite(life: Life, kind: 'stopped' | 'killed' | 'settings'): Site {
    const site = new Site(life, temporaryFolder(life));
    unpackFolder(this.path(`${kind}.json.br`), site.folder);
    mkdirSync(site.data, { recursive: true, mode: 0o700 });
    site.token = this.readTaken().known.tokens.ci;
    return site;
  }
}
