import { randomUUID } from 'node:crypto';
import type { Store } from '../../store/store.ts';

/**
 * What was counted and not reported when the backup was made may have been reported since, under an id that
 * nobody knows here any more. So it becomes a report of unknown result, which a person settles; to report it
 * again could count it twice. Returns how many there are.
 */
export async function putPendingAside(store: Store): Promise<number> {
  const backlog = await store.read({ kind: 'list_backlog' });
  const open = backlog.filter(({ source, pending }) => source === 'cloud' && pending !== 0);
  for (const { licenseId, feature } of open) {
    const report = { licenseId, feature, reportId: randomUUID() };
    await store.execute({ kind: 'cut_report', ...report });
    await store.execute({ kind: 'resolve_report', ...report, cloudTotal: null, takesLower: false });
  }
  return open.length;
}
