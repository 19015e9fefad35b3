import { createHash, createPublicKey, verify } from 'node:crypto';
import { publicKeyFingerprint } from '@berth/protocol/cloud/server-key';
import { EXPORT_FORMAT, EXPORT_VERSION, exportSeal } from './export-audit.ts';

export interface ExportVerdict {
  readonly ok: boolean;
  /** Whether it is complete and as signed: any problems are then those of the log itself. */
  readonly isIntact: boolean;
  readonly chains: number;
  readonly links: number;
  readonly events: number;
  /** Links for which the export has only totals. */
  readonly thinned: number;
  /** Its first and last link; `null`: it does not say. */
  readonly from: number | null;
  readonly to: number | null;
  readonly hardwareId: string | null;
  readonly exportedAt: string | null;
  /** The fingerprint of the signing key. The file cannot prove whose key it is. */
  readonly identityKey: string | null;
  readonly problems: readonly string[];
}

type Facts = Readonly<Record<string, unknown>>;

/** The links of one chain in the file. */
interface Span {
  last: number;
  /** The last link that is not in the file: the totals must cover it. */
  missing: number;
}

/** A line is one link; even one with the heads of many licenses is far smaller. */
const MAX_LINE_BYTES = 64 * 1024 * 1024;
const LINE_FEED = 10;
const MAX_PROBLEMS = 20;

/** Checks an export as it arrives, in chunks of any size. */
export class ExportCheck {
  readonly #hash = createHash('sha256');
  readonly #spans = new Map<number, Span>();
  readonly #thinnedTo = new Map<number, number>();
  readonly #problems: string[] = [];
  #rest: Buffer[] = [];
  #restBytes = 0;
  #header: Facts | null = null;
  /** What was written before its first link is not in it, and the header says so. */
  #isPart = false;
  #isSigned = false;
  #isIntact = false;
  #hasVerdict = false;
  #lines = 0;
  #lastSeq = 0;
  #links = 0;
  #events = 0;
  #thinned = 0;

  take(chunk: Uint8Array): void {
    let from = 0;
    for (let end = chunk.indexOf(LINE_FEED); end >= 0; end = chunk.indexOf(LINE_FEED, from)) {
      this.#takeLine(Buffer.concat([...this.#rest, chunk.subarray(from, end + 1)]));
      this.#rest = [];
      this.#restBytes = 0;
      from = end + 1;
    }
    if (from === chunk.length) return;
    // The caller may reuse its buffer, so copy what is kept.
    this.#rest.push(Buffer.from(chunk.subarray(from)));
    this.#restBytes += chunk.length - from;
    if (this.#restBytes > MAX_LINE_BYTES) throw new Error('A line of the export is too long.');
  }

  end(): ExportVerdict {
    if (!this.#isSigned) this.#tell('The end is missing: the export was interrupted.');
    if (this.#isSigned && this.#restBytes > 0) this.#tellSurplus();
    if (this.#isSigned && !this.#hasVerdict) this.#tell('It does not say whether the log was intact.');
    for (const [chain, { missing }] of this.#spans) this.#checkMissing(chain, missing);
    const key = this.#header?.identity_key;
    return {
      ok: this.#problems.length === 0,
      isIntact: this.#isIntact,
      chains: new Set([...this.#spans.keys(), ...this.#thinnedTo.keys()]).size,
      links: this.#links,
      events: this.#events,
      thinned: this.#thinned,
      from: numberOf(this.#header?.from),
      to: numberOf(this.#header?.to),
      hardwareId: (this.#header?.hardware_id as string | undefined) ?? null,
      exportedAt: (this.#header?.exported_at as string | undefined) ?? null,
      identityKey: typeof key === 'string' ? publicKeyFingerprint(key) : null,
      problems: this.#problems,
    };
  }

  #tell(problem: string): void {
    if (this.#problems.length < MAX_PROBLEMS) this.#problems.push(problem);
  }

  #tellSurplus(): void {
    this.#isIntact = false;
    this.#tell('There is data after the signature.');
  }

  #takeLine(bytes: Buffer): void {
    this.#lines += 1;
    const facts = parseLine(bytes);
    if (this.#isSigned) {
      this.#tellSurplus();
    } else if (facts?.type === 'signature') {
      this.#checkSignature(facts);
    } else {
      this.#hash.update(bytes);
      if (this.#lines === 1) this.#takeHeader(facts);
      else this.#takeContent(facts);
    }
  }

  #takeHeader(facts: Facts | null): void {
    if (facts?.format === EXPORT_FORMAT) requireKnown(facts.version);
    if (facts?.format === EXPORT_FORMAT && facts.version === EXPORT_VERSION) {
      this.#header = facts;
      this.#isPart = isNumber(facts.from) && facts.from > 1;
    } else this.#tell('This is not an export of an audit log.');
  }

  #takeContent(facts: Facts | null): void {
    const isKnown =
      (facts?.type === 'link' && this.#takeLink(facts)) ||
      (facts?.type === 'segment' && this.#takeSegment(facts)) ||
      (facts?.type === 'verdict' && this.#takeVerdict(facts));
    if (!isKnown) this.#tell(`Line ${this.#lines} is not valid in an export.`);
  }

  #takeLink({ seq, chain, n, events }: Facts): boolean {
    if (!isNumber(seq) || !isNumber(chain) || !isNumber(n) || !Array.isArray(events)) return false;
    const span = this.#spans.get(chain) ?? { last: this.#isPart ? n - 1 : 0, missing: 0 };
    if (seq <= this.#lastSeq || n <= span.last) this.#tell(`Link ${n} of chain ${chain} is out of order.`);
    if (n > span.last + 1) span.missing = n - 1;
    span.last = n;
    this.#spans.set(chain, span);
    this.#lastSeq = seq;
    this.#links += 1;
    this.#events += events.length;
    return true;
  }

  #takeSegment({ chain, last_n: lastN, links }: Facts): boolean {
    if (!isNumber(chain) || !isNumber(lastN) || !isNumber(links)) return false;
    this.#thinnedTo.set(chain, lastN);
    this.#thinned += links;
    return true;
  }

  #takeVerdict({ ok, problems }: Facts): boolean {
    if (typeof ok !== 'boolean' || !Array.isArray(problems)) return false;
    this.#hasVerdict = true;
    if (!ok) this.#tell('The log was already broken when it was exported:');
    for (const problem of problems) this.#tell(sayProblem(problem as Facts | null));
    return true;
  }

  /** Totals cover the first links of a chain, possibly more than are missing. */
  #checkMissing(chain: number, missing: number): void {
    if (missing <= (this.#thinnedTo.get(chain) ?? 0)) return;
    this.#tell(`Links of chain ${chain} are missing, up to link ${missing}.`);
  }

  #checkSignature({ signature }: Facts): void {
    this.#isSigned = true;
    const key = this.#header?.identity_key;
    const seal = exportSeal(this.#hash.digest('hex'));
    this.#isIntact =
      typeof key === 'string' && typeof signature === 'string' && isSignedBy(key, seal, signature);
    if (!this.#isIntact) this.#tell('The signature is wrong: the export was changed.');
  }
}

/** Nothing else can be said about a newer one, least of all that it was changed. */
function requireKnown(version: unknown): void {
  if (!isNumber(version) || version <= EXPORT_VERSION) return;
  throw new Error(
    `it was written by a newer Berth (format ${version}; this one knows ${EXPORT_VERSION}); ` +
      'check it with that version',
  );
}

function sayProblem(facts: Facts | null): string {
  const where = facts?.chain === null ? 'all chains' : `link ${facts?.n} of chain ${facts?.chain}`;
  return `${where}: ${facts?.problem}`;
}

function isSignedBy(key: string, seal: Buffer, signature: string): boolean {
  try {
    const publicKey = createPublicKey({ key: Buffer.from(key, 'base64'), format: 'der', type: 'spki' });
    return (
      publicKey.asymmetricKeyType === 'ed25519' &&
      verify(null, seal, publicKey, Buffer.from(signature, 'base64'))
    );
  } catch {
    return false;
  }
}

function numberOf(value: unknown): number | null {
  return isNumber(value) ? value : null;
}

function isNumber(value: unknown): value is number {
  return Number.isSafeInteger(value);
}

/** `null` if it is not a JSON object. */
function parseLine(bytes: Buffer): Facts | null {
  try {
    const value: unknown = JSON.parse(bytes.toString('utf8'));
    return typeof value === 'object' && value !== null ? (value as Facts) : null;
  } catch {
    return null;
  }
}
