import { indexByCode } from '../../core/nouns/feature.ts';
import { DAY_MS, type Instant, MINUTE_MS } from '../../core/nouns/instant.ts';
import { isUsable } from '../../core/nouns/license.ts';
import { type NoticeKey, partSubject } from '../../core/nouns/notice-key.ts';
import { isOutdated, listGroupsOfDirectory } from '../../core/rules/directory-groups.ts';
import { isExpiring, judgeSlots, judgeUse } from '../../core/system/note.ts';
import type { Note } from '../../core/system-command.ts';
import type { LicenseRecord } from '../../store/query.ts';
import type { Store } from '../../store/store.ts';
import type { CloudLink } from '../cloud/cloud-link.ts';

/** Notices about conditions that an administrator should know about. */
export interface Notices {
  /** Records new notices, each once, and returns how many. */
  look(): Promise<number>;
}

interface NoticeOptions {
  readonly store: Store;
  readonly cloudLink: Pick<CloudLink, 'describe'>;
  /** The clock of the cloud link. */
  readonly readWall: () => Instant;
  /** How long before its end a license or token is reported. */
  readonly expiryDays: number;
  /** How long the link to the cloud must fail before it is reported. */
  readonly cloudMinutes: number;
  /** How much of the slots or of the consumption of a license must be used; 0: it is not reported. */
  readonly slotsPercent: number;
  readonly consumptionPercent: number;
}

/** Each is reported once; beyond this number, the last to end wait until others have ended. */
const MAX_TOKENS = 1000;

export function createNotices(options: NoticeOptions): Notices {
  return {
    async look() {
      const records = await options.store.read({ kind: 'list_licenses', product: null });
      const counts = [
        await lookAtEnds(options, records),
        await lookAtSlots(options, records),
        await lookAtConsumption(options, records),
        await lookAtTokens(options),
        await lookAtCloud(options),
        await lookAtGroups(options),
      ];
      return counts.reduce((sum, count) => sum + count, 0);
    },
  };
}

type Records = readonly LicenseRecord[];

async function lookAtEnds({ store, expiryDays }: NoticeOptions, records: Records): Promise<number> {
  let added = 0;
  for (const { license, now } of records) {
    const { id: licenseId, product, validUntil } = license;
    if (validUntil === null || !isExpiring(license, now, expiryDays)) continue;
    added += await note(store, { kind: 'license_expiring', licenseId, product, validUntil });
  }
  return added;
}

async function lookAtSlots({ store, slotsPercent }: NoticeOptions, records: Records): Promise<number> {
  if (slotsPercent === 0) return 0;
  const noted = await findNoted(store, 'license_nearly_full');
  let added = 0;
  for (const part of records.flatMap(listSlots)) {
    const level = judgeSlots(part.inUse, part.slots, slotsPercent);
    const isNoted = noted.has(partSubject(part.licenseId, part.feature));
    if (level === 'reached' && !isNoted) added += await note(store, { kind: 'license_nearly_full', ...part });
    if (level === 'left' && isNoted) added += await note(store, { kind: 'license_has_room', ...part });
  }
  return added;
}

/** The slots of a license and of its floating features. A license that lends nothing is not short of them. */
function listSlots({ license, inUse, totals, now }: LicenseRecord) {
  const { id: licenseId, product } = license;
  if (!isUsable(license, now)) return [{ licenseId, product, feature: null, inUse: 0, slots: license.slots }];
  const used = indexByCode(totals.features);
  return [
    { licenseId, product, feature: null, inUse, slots: license.slots },
    ...license.features.flatMap(({ code, floating }) =>
      floating === null
        ? []
        : [{ licenseId, product, feature: code, inUse: used.get(code)?.inUse ?? 0, slots: floating.slots }],
    ),
  ];
}

async function lookAtConsumption(options: NoticeOptions, records: Records): Promise<number> {
  const { store, consumptionPercent } = options;
  if (consumptionPercent === 0) return 0;
  const noted = await findNoted(store, 'consumption_nearly_used_up');
  let added = 0;
  for (const part of records.flatMap(listConsumption)) {
    const level = judgeUse(part.total, part.max, consumptionPercent);
    const isNoted = noted.has(partSubject(part.licenseId, part.feature));
    if (level === 'reached' && !isNoted) {
      added += await note(store, { kind: 'consumption_nearly_used_up', ...part });
    }
    if (level === 'left' && isNoted) added += await note(store, { kind: 'consumption_has_room', ...part });
  }
  return added;
}

/** What is counted of a license and of its features, in the current window. */
function listConsumption({ license, totals }: LicenseRecord) {
  const { id: licenseId, product } = license;
  const counted = indexByCode(totals.features);
  const parts = [
    { feature: null, limits: license.consumption, total: totals.total },
    ...license.features.map(({ code, consumption }) => ({
      feature: code,
      limits: consumption,
      total: counted.get(code)?.total ?? 0,
    })),
  ];
  return parts.map(({ feature, limits: { max, unlimited }, total }) => ({
    licenseId,
    product,
    feature,
    total,
    max: unlimited ? 0 : max,
  }));
}

async function findNoted(store: Store, of: NoticeKey['kind']): Promise<ReadonlySet<string>> {
  return new Set(await store.read({ kind: 'list_notices', of }));
}

async function lookAtTokens({ store, expiryDays }: NoticeOptions): Promise<number> {
  let added = 0;
  const ending = { endingWithinMs: expiryDays * DAY_MS, limit: MAX_TOKENS };
  for (const { token } of await store.read({ kind: 'list_tokens', ...ending })) {
    const { id: tokenId, name, expiresAt } = token;
    if (expiresAt !== null) added += await note(store, { kind: 'token_expiring', tokenId, name, expiresAt });
  }
  return added;
}

/** A cloud that refuses the keys is as useless as an unreachable one; the code says which it is. */
async function lookAtCloud({ store, cloudLink, readWall, cloudMinutes }: NoticeOptions): Promise<number> {
  const { state, failingAt, error } = await cloudLink.describe();
  if (state === 'ok') return note(store, { kind: 'cloud_reachable' });
  // It is no longer used, and the next outage is a new one.
  if (state === 'not_configured') return note(store, { kind: 'cloud_reachable', reason: state });
  if ((state !== 'failing' && state !== 'refused') || failingAt === null || error === null) return 0;
  if (readWall() < failingAt + cloudMinutes * MINUTE_MS) return 0;
  const { code, reason } = error;
  return note(store, { kind: 'cloud_unreachable', failingAt, code, reason });
}

/** Members that the directory has not told for long. */
async function lookAtGroups({ store }: NoticeOptions): Promise<number> {
  const { rules, applied } = await store.read({ kind: 'find_rules' });
  const ages = applied?.ages ?? [];
  const noted = ages.length > 0 || (await findNoted(store, 'groups_outdated')).size > 0;
  if (!noted) return 0;
  const { now } = await store.keepClock();
  const old = listGroupsOfDirectory(rules.set, ages).filter((one) => isOutdated(one, now));
  const [oldest] = old.toSorted((a, b) => a.answeredAt - b.answeredAt);
  if (oldest === undefined) return note(store, { kind: 'groups_up_to_date' });
  const { answeredAt, problem } = oldest;
  const groups = old.map(({ group }) => group);
  return note(store, { kind: 'groups_outdated', groups, answeredAt, reason: problem ?? '' });
}

/** Records a notice, unless it was recorded before; answers how many were. */
export async function note(store: Store, notice: Note['notice']): Promise<number> {
  const outcome = await store.execute({ kind: 'note', notice });
  return outcome.kind === 'done' ? outcome.count : 0;
}
