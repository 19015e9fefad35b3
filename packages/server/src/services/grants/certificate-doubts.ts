import type { Doubt } from '../../core/doctor/judge-grants.ts';
import type { CertificateDoubt, CertificateRight } from '../../core/nouns/audit-event.ts';
import type { Store } from '../../store/store.ts';
import type { Log } from '../../telemetry/log.ts';

/**
 * Problems with the certificates that the vendor sends. Each is reported once, in the log and as a notice,
 * until the right certificate arrives.
 */
export interface CertificateDoubts {
  tell(doubt: CertificateDoubt): Promise<void>;
  /** The right certificate has come. */
  end(right: Omit<CertificateRight, 'kind' | 'after'>): Promise<void>;
}

const KINDS = ['certificate_wrong', 'certificate_missing'] as const;

const SENTENCES: Readonly<Record<CertificateDoubt['kind'], string>> = {
  certificate_wrong:
    'the vendor has certified another key than the one of this server; somebody may have changed the ' +
    'request on its way',
  certificate_missing: 'the vendor no longer certifies the key of this server',
};

export function createCertificateDoubts(store: Store, log: Log): CertificateDoubts {
  return {
    async tell(doubt) {
      const { kind, ...facts } = doubt;
      const outcome = await store.execute({ kind: 'note', notice: doubt });
      if (outcome.kind === 'done' && outcome.count > 0) log.error(facts, SENTENCES[kind]);
    },
    async end(right) {
      for (const after of KINDS) {
        const key = { kind: after, subject: String(right.licenseId) };
        if ((await store.read({ kind: 'find_notice', key })) === null) continue;
        await store.execute({ kind: 'note', notice: { kind: 'certificate_right', ...right, after } });
        log.info({ ...right }, 'the vendor certifies the key of this server again');
      }
    },
  };
}

/** The open problems, including those of licenses that could not be added because of them. */
export async function listDoubts(store: Store): Promise<readonly Doubt[]> {
  const noted = KINDS.map(async (of) => {
    const subjects = await store.read({ kind: 'list_notices', of });
    return subjects.map((subject) => ({ kind: of, licenseId: Number(subject) }));
  });
  return (await Promise.all(noted)).flat();
}
