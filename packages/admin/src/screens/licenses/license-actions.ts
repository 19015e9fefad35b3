import type { License } from '@berth/protocol/admin/licenses';
import { type ApiError, post } from '../../data/api.ts';
import { goTo, linkTo } from '../../data/route.ts';
import { ask } from '../../parts/dialog.tsx';
import { saveFile } from '../../parts/save-file.ts';
import { showToast } from '../../parts/toasts.tsx';
import { nameOf } from '../../words/judge-license.ts';
import { formatNumber } from '../../words/numbers.ts';

/** Reports consumption and checks the license at the vendor. Returns why it failed. */
export async function checkNow(license: License): Promise<string | null> {
  try {
    const { licenses } = await post('/api/admin/licenses/sync', { license_id: license.id });
    const error = licenses[0]?.error ?? null;
    if (error === null) showToast('Checked with the vendor.');
    return error?.message ?? null;
  } catch (error) {
    return (error as ApiError).message;
  }
}

function factsOf(license: License): readonly (readonly [string, string])[] {
  const { floating_in_use: used, floating_users: slots } = license;
  return [
    ['License', nameOf(license)],
    ['Product', license.product],
    ['In use', `${formatNumber(used)} of ${formatNumber(slots)} slots`],
  ];
}

const REMOVED = 'No new slots are lent. Those that are held go on until they end.';

export function askToRemove(license: License): void {
  const isCloud = license.source === 'cloud';
  ask({
    title: 'Remove this license?',
    text: isCloud ? `It is deactivated at the vendor, so that it can be used elsewhere. ${REMOVED}` : REMOVED,
    facts: factsOf(license),
    after: isCloud
      ? 'You can add it again with its key.'
      : 'The vendor is not told. To return a license from a file, use “Return to the vendor” instead.',
    verb: 'Remove license',
    act: async () => {
      await post('/api/v4/removeProduct', { license_id: license.id });
      goTo(linkTo('licenses'));
      showToast(`${nameOf(license)} was removed.`);
    },
  });
}

/** For a cloud that cannot be reached. */
export function askToRemoveHere(license: License): void {
  ask({
    title: 'Remove this license only here?',
    text: `The vendor is not contacted, and keeps it as activated on this server. ${REMOVED}`,
    facts: factsOf(license),
    after: 'Only for a vendor that cannot be reached any more.',
    verb: 'Remove here',
    act: async () => {
      await post('/api/admin/licenses/remove-locally', { license_id: license.id });
      goTo(linkTo('licenses'));
      showToast(`${nameOf(license)} was removed from this server.`);
    },
  });
}

/** For licenses that came in a file: they go back in one. */
export function askToReturn(license: License): void {
  ask({
    title: 'Return this license to the vendor?',
    text: `It is removed here, and you get a file for the vendor with its consumption. ${REMOVED}`,
    facts: factsOf(license),
    after: 'Give the file to the vendor, who can then issue the license for another server.',
    verb: 'Return license',
    act: async () => {
      const wish = { request: 'deactivation', license_id: license.id } as const;
      const made = await post('/api/v4/license/generate', wish);
      saveFile(made.file_name, made.request_data, 'text/plain');
      goTo(linkTo('licenses'));
      showToast(`${nameOf(license)} was removed. Give the vendor ${made.file_name}.`);
    },
  });
}
