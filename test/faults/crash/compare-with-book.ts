import type { BerthApi } from '../../support/berth-api.ts';
import type { SlotBook } from './slot-book.ts';

/** Compares what the server holds with everything that it acknowledged; the book notes violations. */
export async function compareWithBook(api: BerthApi, book: SlotBook): Promise<void> {
  const holders = await api.holders();
  book.reconcile(holders);
  book.checkLimits(await api.licenses(), holders);
  book.checkAudit(await api.eventsAfter(book.lastSeq));
  book.checkHeld(holders);
  const verdict = await api.verifyAudit();
  if (verdict.ok !== true) book.violations.push(`the audit log is broken: ${JSON.stringify(verdict)}`);
}
