import { randomUUID } from 'node:crypto';
import { showSetting } from '../../config.ts';
import type { License } from '../../core/nouns/license.ts';
import { SETTINGS } from '../../settings.ts';
import type { Store } from '../../store/store.ts';
import type { Holdings } from '../../store/store-copy.ts';

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

/** With these, a copy would write to the backups of the original, remove old ones, and call its receiver. */
const LEFT_OUT: readonly string[] = ['backup.schedule', 'webhooks.url', 'syslog.url'];
const NOT_RESTORED = SETTINGS.filter(({ path }) => LEFT_OUT.includes(path));

/** Removes the stored settings that a copy must not take over, and returns them without secrets. */
export async function leaveOutSettings(store: Store) {
  const stored = await store.read({ kind: 'list_settings' });
  const found = NOT_RESTORED.flatMap((setting) =>
    stored
      .filter(({ name, value }) => name === setting.path && value !== '')
      .map(({ name, value }) => ({ name, value: showSetting(setting, value) })),
  );
  const changes = found.map(({ name }) => ({ name, value: null, shown: null }));
  await store.execute({ kind: 'change_settings', changes, by: 'control' });
  return found;
}

/** The original may still send messages, too. Returns the names of channels that were not paused before. */
export async function pauseChannels(store: Store): Promise<readonly string[]> {
  const channels = await store.read({ kind: 'list_channels' });
  const sending = channels.filter(({ isPaused }) => !isPaused);
  for (const channel of sending) {
    await store.execute({ kind: 'put_channel', channel: { ...channel, isPaused: true }, by: 'control' });
  }
  return sending.map(({ name }) => name);
}

/** The licenses that the replaced data knows as given back to the vendor. */
export function listGivenBack({ removed }: Pick<Holdings, 'removed'>): readonly License[] {
  return removed.map(({ facts }) => JSON.parse(facts) as License).filter(({ tie }) => tie?.isGivenBack);
}

/**
 * What was given back after the backup was made stays given back: the vendor may have lent it to others. It
 * is also remembered if the backup is from before it came, because its file must not bring it again. A cloud
 * remembers by itself. Returns the licenses that the backup would have brought back.
 */
export async function keepGivenBack(
  store: Store,
  givenBack: readonly License[],
  { licenses }: Pick<Holdings, 'licenses'>,
): Promise<readonly License[]> {
  const revived = await removeGivenBack(store);
  const known = new Set<number>(licenses.map(({ id }) => id));
  for (const license of givenBack.filter(({ id, source }) => source !== 'cloud' && !known.has(id))) {
    await store.execute({ kind: 'install_license', license, by: 'control' });
  }
  await removeGivenBack(store);
  return revived;
}

async function removeGivenBack(store: Store): Promise<readonly License[]> {
  const records = await store.read({ kind: 'list_licenses', product: null });
  const held = records.map(({ license }) => license).filter(({ tie }) => tie.isGivenBack);
  for (const { id } of held) {
    await store.execute({ kind: 'remove_license', licenseId: id, by: 'control' });
  }
  return held;
}
