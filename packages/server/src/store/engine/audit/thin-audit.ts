import { instant } from '../../../core/nouns/instant.ts';
import { type Done, type Refused, refuse } from '../../../core/outcome.ts';
import { decideThinAudit, THIN_LIMIT, type ThinnableChain } from '../../../core/system/thin-audit.ts';
import type { ThinAudit } from '../../../core/system-command.ts';
import type { Batch } from '../execute-command.ts';
import { type Row, segmentFromRow } from '../rows.ts';
import {
  type ChainHead,
  EMPTY_HEAD,
  eventText,
  isSameMac,
  linkMac,
  type Segment,
  SYSTEM_CHAIN,
  segmentMac,
} from './audit-chain.ts';
import { headsOf } from './sign-heads.ts';

/** Puts totals in the place of old links, in the same commit as the event that says so. */
export function thinAudit(batch: Batch, command: ThinAudit): Done | Refused {
  const heads = listMeant(batch, command);
  if ('kind' in heads) return heads;
  let budget = THIN_LIMIT;
  const chains: (ThinnableChain & { readonly folded: Segment | null })[] = [];
  for (const [chain, head] of heads) {
    const found = lookAt(batch, command, chain, head, budget);
    budget -= Math.max(0, found.oldTo - found.thinnedTo);
    chains.push(found);
  }
  const { outcome, events } = decideThinAudit(command, chains, batch.now);
  const goingTo = new Map(events.flatMap(({ thinned }) => thinned.map(([chain, upTo]) => [chain, upTo])));
  for (const { chain, folded } of chains) {
    if (folded !== null && goingTo.get(chain) === folded.lastN) putSegment(batch, folded);
  }
  for (const event of events) batch.systemEvents.push(eventText(event));
  if (events.length > 0) batch.isChanged = true;
  return outcome;
}

/** A license that was removed keeps its chain, and it can be thinned out too. */
function listMeant(batch: Batch, { chain }: ThinAudit): ReturnType<typeof headsOf> | Refused {
  const heads = headsOf(batch);
  if (chain === null) return heads;
  const meant = heads.filter(([id]) => id === (chain === 'system' ? SYSTEM_CHAIN : chain));
  if (meant.length > 0) return meant;
  return refuse('license_not_found', `This server holds no license with the id ${chain}.`);
}

function lookAt(
  { statements, ledger }: Batch,
  { before }: ThinAudit,
  chain: number,
  head: ChainHead,
  budget: number,
): ThinnableChain & { readonly folded: Segment | null } {
  const row = statements.findSegment.get(chain);
  const segment = row === undefined ? null : segmentFromRow(row);
  const thinnedTo = segment?.lastN ?? 0;
  const most = Math.min(head.n - 1, thinnedTo + budget);
  // What comes before it in the chain was written before it, whatever date a wrong clock has put on it.
  const oldTo = statements.findLastLinkBefore.get(chain, thinnedTo, most, before)?.n as number | undefined;
  if (oldTo === undefined) return { chain, thinnedTo, oldTo: thinnedTo, isWhole: true, folded: null };
  const isKept = segment === null || isSameMac(segmentMac(ledger.key, segment), row?.mac as Uint8Array);
  const links = statements.listLinksOf.all(chain, thinnedTo, oldTo);
  const folded = isKept ? foldLinks(ledger.key, chain, segment, links) : null;
  return { chain, thinnedTo, oldTo, isWhole: folded?.lastN === oldTo, folded };
}

/** `null`: one of them is not as it was written. */
function foldLinks(
  key: Uint8Array,
  chain: number,
  segment: Segment | null,
  links: readonly Row[],
): Segment | null {
  let last: ChainHead = segment === null ? EMPTY_HEAD : { n: segment.lastN, mac: segment.lastMac };
  const totals = new Map<string, number>(Object.entries(JSON.parse(segment?.totals ?? '{}')));
  let events = segment?.events ?? 0;
  for (const row of links) {
    const link = { chain, n: row.n as number, at: instant(row.at as number), events: row.events as string };
    const mac = row.mac as Uint8Array;
    if (link.n !== last.n + 1 || !isSameMac(linkMac(key, last.mac, link), mac)) return null;
    for (const { kind } of JSON.parse(link.events) as { kind: string }[]) {
      totals.set(kind, (totals.get(kind) ?? 0) + 1);
      events += 1;
    }
    last = { n: link.n, mac };
  }
  const [first, newest] = [links[0], links.at(-1)];
  return {
    chain,
    firstN: 1,
    lastN: last.n,
    firstMac: segment?.firstMac ?? (first?.mac as Uint8Array),
    lastMac: last.mac,
    firstAt: segment?.firstAt ?? instant(first?.at as number),
    lastAt: instant(newest?.at as number),
    links: last.n,
    events,
    totals: JSON.stringify(Object.fromEntries([...totals].sort(([a], [b]) => (a < b ? -1 : 1)))),
  };
}

function putSegment({ statements, ledger }: Batch, segment: Segment): void {
  statements.putSegment.run({ ...segment, mac: segmentMac(ledger.key, segment) });
  statements.removeLinks.run(segment.chain, segment.lastN);
}
