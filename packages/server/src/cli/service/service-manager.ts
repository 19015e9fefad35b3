/** What the definition of a service is made of. */
export interface ServiceFacts {
  /** The program, and what comes before its first argument; absolute paths. */
  readonly program: readonly string[];
  /** Its arguments; the last two are `--data` and the folder. */
  readonly args: readonly string[];
  readonly data: string;
  /** Other folders that the server writes to. */
  readonly folders: readonly string[];
  readonly port: number;
}

export interface ServiceFile {
  readonly path: string;
  readonly text: string;
  readonly encoding?: 'utf16le';
}

export interface ServiceStep {
  readonly words: readonly string[];
  /** The step is skipped if this command succeeds. */
  readonly unless?: readonly string[];
  /** Its failure is no problem. */
  readonly mayFail?: boolean;
}

/** What changes on this machine: in this order. */
export interface ServicePlan {
  /** Before the files are written or removed. */
  readonly before: readonly ServiceStep[];
  readonly written: readonly ServiceFile[];
  readonly removed: readonly string[];
  readonly after: readonly ServiceStep[];
}

/** The state of the service as its manager describes it. */
export interface ServiceState {
  readonly installed: boolean;
  readonly running: boolean;
  /** In the words of the manager. */
  readonly state: string;
  readonly process_id: number | null;
  /** The file that the manager uses, if it says so: a package has its own place for it. */
  readonly definition?: string;
}

/** The part of the operating system that starts services. Everything here is text: nothing is run. */
export interface ServiceManager {
  readonly name: string;
  /** The user that the server runs as. */
  readonly user: string;
  /** The file whose presence means that the service is installed. */
  readonly definition: string;
  /** A sentence about the server's log. */
  readonly log: string;
  /** Why the service cannot use this program or folder; `null` if it can. */
  explainPath(path: string): string | null;
  install(facts: ServiceFacts): ServicePlan;
  uninstall(): ServicePlan;
  /** The data folder in an installed definition. */
  findData(definition: string): string | null;
  readonly query: readonly string[];
  /** Reads what the query printed; it has failed if `output` is `null`. */
  readState(output: string | null): ServiceState;
}

/** Text as XML has it. */
export function escapeXml(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;');
}

export function unescapeXml(text: string): string {
  return text
    .replaceAll('&quot;', '"')
    .replaceAll('&gt;', '>')
    .replaceAll('&lt;', '<')
    .replaceAll('&amp;', '&');
}

/** The text after the last `start`, up to the next `end`. */
export function findBetween(text: string, start: string, end: string): string | null {
  const from = text.lastIndexOf(start);
  if (from < 0) return null;
  const rest = text.slice(from + start.length);
  const to = rest.indexOf(end);
  return to < 0 ? null : rest.slice(0, to);
}
