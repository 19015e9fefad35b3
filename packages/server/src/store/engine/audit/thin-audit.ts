import type { AuditSegment } from '../../../core/nouns/audit-segment.ts';
import { THIN_LIMIT } from '../../../core/system/audit.ts';
import type { ThinAudit } from '../../../core/system-command.ts';
import type { ThinnableChain } from '../../../core/system-module.ts';
import type { Batch } from '../batch.ts';
import { segmentFromRow, segmentRow } from '../rows.ts';
import type { RowOf } from '../tables.ts';
import { type ChainHead, EMPTY_HEAD, isSameMac, linkMac, SYSTEM_CHAIN, segmentMac } from './audit-chain.ts';
import { headsOf } from './sign-heads.ts';

type ThinFilter = Pick<ThinAudit, 'before' | 'chain'>;

/** The chains to thin out, with a bounded number of links. Empty: there is no such chain. */
export function loadChains(batch: Batch, filter: ThinFilter): readonly ThinnableChain[] {
  let budget = THIN_LIMIT;
  return findChains(batch, filter).map(([chain, head]) => {
    const found = lookAt(batch, filter, chain, head, budget);
    budget -= Math.max(0, found.oldTo - found.thinnedTo);
    return found;
  });
}

/** The chain of a removed license can be thinned out, too. */
function findChains(batch: Batch, { chain }: ThinFilter): ReturnType<typeof headsOf> {
  const heads = headsOf(batch);
  if (chain === null) return heads;
  return heads.filter(([id]) => id === (chain === 'system' ? SYSTEM_CHAIN : chain));
}

function lookAt(
  { statements, ledger }: Batch,
  { before }: ThinFilter,
  chain: number,
  head: ChainHead,
  budget: number,
): ThinnableChain {
  const row = statements.audit_segment.find({ chain });
  const segment = row === undefined ? null : segmentFromRow(row);
  const thinnedTo = segment?.lastN ?? 0;
  const most = Math.min(head.n - 1, thinnedTo + budget);
  // All links before it are older, whatever date a wrong clock gave them.
  const oldTo = statements.findLastLinkBefore.get(chain, thinnedTo, most, before)?.n;
  if (oldTo === undefined) return { chain, thinnedTo, oldTo: thinnedTo, isWhole: true, folded: null };
  const isKept = segment === null || isSameMac(segmentMac(ledger.key, segment), row?.mac);
  const links = statements.listLinksOf.all(chain, thinnedTo, oldTo);
  const folded = isKept ? foldLinks(ledger.key, chain, segment, links) : null;
  return { chain, thinnedTo, oldTo, isWhole: folded?.lastN === oldTo, folded };
}

type LinkRow = Pick<RowOf<'audit_link'>, 'n' | 'at' | 'events' | 'mac'>;

/** `null`: a link was tampered with. */
function foldLinks(
  key: Uint8Array,
  chain: number,
  segment: AuditSegment | null,
  links: readonly LinkRow[],
): AuditSegment | null {
  let last: ChainHead = segment === null ? EMPTY_HEAD : { n: segment.lastN, mac: segment.lastMac };
  const totals = new Map<string, number>(Object.entries(JSON.parse(segment?.totals ?? '{}')));
  let events = segment?.events ?? 0;
  for (const row of links) {
    const { mac, ...stored } = row;
    const link = { chain, ...stored };
    if (link.n !== last.n + 1 || !isSameMac(linkMac(key, last.mac, link), mac)) return null;
    for (const { kind } of JSON.parse(link.events) as { kind: string }[]) {
      totals.set(kind, (totals.get(kind) ?? 0) + 1);
      events += 1;
    }
    last = { n: link.n, mac };
  }
  const [first, newest] = [links[0], links.at(-1)] as [LinkRow, LinkRow];
  return {
    chain,
    firstN: 1,
    lastN: last.n,
    firstMac: segment?.firstMac ?? first.mac,
    lastMac: last.mac,
    firstAt: segment?.firstAt ?? first.at,
    lastAt: newest.at,
    links: last.n,
    events,
    totals: JSON.stringify(Object.fromEntries([...totals].sort(([a], [b]) => (a < b ? -1 : 1)))),
  };
}

/** Replaces links by their total. */
export function putSegment({ statements, ledger }: Batch, segment: AuditSegment): void {
  statements.audit_segment.put(segmentRow(segment, segmentMac(ledger.key, segment)));
  statements.removeLinks.run(segment.chain, segment.lastN);
}
