import { readFileSync } from 'node:fs';
import type { SourceFile } from 'typescript/unstable/ast';
import { API, type Snapshot } from 'typescript/unstable/sync';
import { type Change, listChanges } from './mutators.ts';

/** Code that is left out leaves unused names and unreachable lines behind, which does not make it wrong. */
const HARMLESS_CODES = new Set([6133, 6138, 6192, 6196, 6198, 7027, 7028]);

/** The sources as the compiler reads them, with one of them changed at a time. */
export class TypedSources {
  readonly #api: API;
  readonly #config: string;
  #snapshot: Snapshot;
  #changed: { readonly file: string; readonly text: string | undefined } | undefined;

  constructor(root: string) {
    this.#config = `${root}/tsconfig.json`;
    const readFile = (file: string) => (file === this.#changed?.file ? this.#changed.text : undefined);
    this.#api = new API({ cwd: root, fs: { readFile } });
    this.#snapshot = this.#api.updateSnapshot({ openProjects: [this.#config] });
  }

  listChanges(file: string): Change[] {
    return listChanges(this.#getProgram().getSourceFile(file) as SourceFile);
  }

  /** Whether the compiler rejects the file with this change, so that no test is needed to find it. */
  rejects(file: string, change: Change): boolean {
    this.#update(file, applyChange(readFileSync(file, 'utf8'), change));
    const program = this.#getProgram();
    const isWrong =
      program.getSyntacticDiagnostics(file).length > 0 ||
      program.getSemanticDiagnostics(file).some(({ code }) => !HARMLESS_CODES.has(code));
    this.#update(file, undefined);
    return isWrong;
  }

  /** One file at a time: for several, the compiler would build its program anew. */
  #update(file: string, text: string | undefined): void {
    this.#changed = { file, text };
    const old = this.#snapshot;
    this.#snapshot = this.#api.updateSnapshot({ fileChanges: { changed: [file] } });
    old.dispose();
  }

  close(): void {
    this.#api.close();
  }

  #getProgram() {
    const project = this.#snapshot.getProject(this.#config);
    if (project === undefined) throw new Error(`There is no project ${this.#config}.`);
    return project.program;
  }
}

export function applyChange(text: string, { start, end, text: other }: Change): string {
  return text.slice(0, start) + other + text.slice(end);
}
