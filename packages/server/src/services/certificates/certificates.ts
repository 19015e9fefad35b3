import type { Config } from '../../config.ts';
import { DAY_MS, type Instant, instant, say } from '../../core/nouns/instant.ts';
import { isCertificateEnding } from '../../core/system/note.ts';
import type { Log } from '../../telemetry/log.ts';
import { CertificateError, describeLooks, loadFiles, type TlsContext } from './certificate-files.ts';

/** The server's certificate, its key and the client CA, from files that may change. */
export interface Certificates {
  read(): TlsContext;
  onChange(listener: (context: TlsContext) => void): void;
  /** Loads changed files, or logs once why they are invalid. */
  refresh(): Promise<void>;
  /** Logs once a day that the certificate expires soon. */
  warnBeforeEnd(): void;
  describe(): CertificateFacts;
  /** Whether the current certificate is for this host name. */
  isFor(name: string): boolean;
}

/** The current certificate; nothing of it is secret. */
export interface CertificateFacts {
  readonly subject: string;
  readonly fingerprint256: string;
  readonly validUntil: Instant;
  readonly asksClients: boolean;
  /** Why the current files are not in use. */
  readonly error: string | null;
}

interface Outside {
  readonly log: Log;
  readonly readWall: () => Instant;
  /** How many days before its end the log warns; 0: never. */
  readonly warnDays: number;
}

/** `null` if TLS is not configured; throws a CertificateError if the files are invalid. */
export function openCertificates(files: Config['tls'], outside: Outside): Certificates | null {
  if (files.cert === '') return null;
  const { log, readWall, warnDays } = outside;
  let current = loadFiles(files);
  /**
   * The state of the files when they were read; unknown after the first read, so that no change is missed.
   */
  let looks: string | null = null;
  let error: string | null = null;
  let warnedAt: Instant | null = null;
  const listeners: ((context: TlsContext) => void)[] = [];

  function takeOver(): void {
    const next = loadFiles(files);
    error = null;
    if (isSame(next.context, current.context)) return;
    current = next;
    warnedAt = null;
    for (const listener of listeners) listener(current.context);
    log.info(inForce(), 'the TLS files have changed; new connections use them');
  }

  function inForce() {
    const { subject, subjectAltName = '', fingerprint256 } = current.certificate;
    return { subject: subject?.replaceAll('\n', ', ') || subjectAltName, fingerprint256 };
  }

  function validUntil(): Instant {
    return instant(current.certificate.validToDate.getTime());
  }

  return {
    read: () => current.context,
    onChange: (listener) => listeners.push(listener),
    async refresh() {
      const now = await describeLooks(files);
      if (now === looks) return;
      looks = now;
      try {
        takeOver();
      } catch (cause) {
        if (!(cause instanceof CertificateError)) throw cause;
        error = cause.message;
        log.error({ error }, 'the TLS files have changed and are not valid; the previous ones stay in use');
      }
    },
    warnBeforeEnd() {
      const now = readWall();
      if (!isCertificateEnding(validUntil(), now, warnDays)) return;
      if (warnedAt !== null && now - warnedAt < DAY_MS) return;
      warnedAt = now;
      const facts = { ...inForce(), validUntil: say(validUntil()) };
      log.warn(
        facts,
        now < validUntil() ? 'the TLS certificate expires soon' : 'the TLS certificate has expired',
      );
    },
    describe: () => ({
      ...inForce(),
      validUntil: validUntil(),
      asksClients: current.context.ca !== undefined,
      error,
    }),
    isFor: (name) => current.certificate.checkHost(name) !== undefined,
  };
}

function isSame(a: TlsContext, b: TlsContext): boolean {
  return a.cert === b.cert && a.key === b.key && a.ca === b.ca;
}
