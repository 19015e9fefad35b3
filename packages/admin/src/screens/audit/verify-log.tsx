import type { AuditVerdict } from '@berth/protocol/admin/audit';
import { useEffect, useState } from 'preact/hooks';
import { ApiError, get } from '../../data/api.ts';
import { Button } from '../../parts/button.tsx';
import { Shape } from '../../parts/shape.tsx';
import { ErrorBox } from '../../parts/states.tsx';
import { formatNumber } from '../../words/numbers.ts';

/** Checks the whole log; it takes a while, and goes on while the rest of the page is used. */
export function VerifyLog({ onClose }: { readonly onClose: () => void }) {
  const [verdict, setVerdict] = useState<AuditVerdict | null>(null);
  const [error, setError] = useState<ApiError | null>(null);
  useEffect(() => {
    const control = new AbortController();
    get('/api/admin/audit/verify', {}, control.signal)
      .then(setVerdict)
      .catch((failure: unknown) => failure instanceof ApiError && setError(failure));
    return () => control.abort();
  }, []);
  return (
    <div class="box pad verify" role="status">
      {error !== null && <ErrorBox title="The audit log was not verified." error={error} />}
      {verdict === null && error === null && (
        <>
          <h2>Verifying the audit log</h2>
          <div class="progress open">
            <span />
          </div>
        </>
      )}
      {verdict !== null && <Result verdict={verdict} />}
      <p>
        <Button as="link" onClick={onClose}>
          {verdict === null && error === null ? 'Stop' : 'Close'}
        </Button>
      </p>
    </div>
  );
}

function sayChain(chain: number | null): string {
  if (chain === null) return 'All chains';
  return chain === 0 ? 'The server’s chain' : `License ${chain}`;
}

function Result({ verdict }: { readonly verdict: AuditVerdict }) {
  const { ok, events, links, problems } = verdict;
  return (
    <>
      <h2 class="state">
        <Shape level={ok ? 'ok' : 'critical'} />
        {ok ? 'The audit log is whole' : 'The audit log was altered'}
      </h2>
      <p class="second">
        {formatNumber(events)} events in {formatNumber(links)} links were checked.
      </p>
      {problems.slice(0, 10).map(({ chain, n, problem }) => (
        <p key={`${chain} ${n}`} class="critical">
          {sayChain(chain)}, link {n}: {problem}
        </p>
      ))}
    </>
  );
}
