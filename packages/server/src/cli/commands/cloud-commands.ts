import type { GetAnswer, PostAnswer } from '@berth/protocol/admin/admin-api';
import { formatTable } from '@berth/shell/console/console-text';
import type { CallOf } from '@berth/shell/console/hints';
import type { AdminClient, RefusedAnswer } from '../admin-client.ts';
import { LICENSE_SYNONYM, LICENSE_USAGE, licenseOf, suggestLicenses } from '../choose-license.ts';
import { type Command, defineCommand, type Flags } from '../command.ts';
import { InputError } from '../read-secrets.ts';

/** Licenses from the vendor's licensing cloud, and reports to it. */
export const CLOUD_COMMANDS: readonly Command[] = [
  defineCommand({
    words: 'license add',
    arguments: ['PRODUCT'],
    usage: '[--license-key K | --user U]',
    about: 'activate a license at the cloud and add it; standard input may provide the key or the password',
    reads: (flags) => listAsked(flags),
    precheck: async (client, _, flags) => (listAsked(flags).length === 0 ? null : refuseWithoutCloud(client)),
    ask: askAdd,
    show: ({ id, product, floating_users }) =>
      `Added license ${id} for "${product}" with ${floating_users} ` +
      `${floating_users === 1 ? 'slot' : 'slots'}.`,
  }),
  defineCommand({
    words: 'license remove',
    arguments: ['ID'],
    usage: '[--locally]',
    about: 'deactivate a license at the cloud and remove it; --locally does not contact the cloud',
    ask: askRemove,
    show: ({ license_id, product }) => `Removed license ${license_id} for "${product}".`,
  }),
  defineCommand({
    words: 'license sync',
    usage: `${LICENSE_USAGE} [--accept-older] [--accept-unbound]`,
    otherFlags: LICENSE_SYNONYM,
    about:
      'report consumption to the cloud and check licenses there now; --accept-older accepts totals that ' +
      'are lower than before, --accept-unbound accepts answers without the nonce of the request',
    ask: async (client, _, flags) =>
      client.post('/api/admin/licenses/sync', {
        license_id: await licenseOf(client, flags),
        accept_older: flags['accept-older'] === true,
        accept_unbound: flags['accept-unbound'] === true,
      }),
    show: showSynced,
    isFailure: ({ licenses }) => licenses.some((one) => sayLeft(one) !== ''),
  }),
  defineCommand({
    words: 'report list',
    about: 'list consumption, and how much of it has been reported to the cloud',
    ask: (client) => client.get('/api/admin/reports'),
    show: showReports,
  }),
  defineCommand({
    words: 'report settle',
    arguments: ['REPORT'],
    usage: '--counted | --not-counted',
    about: 'say whether the vendor counted an uncertain report',
    ask: askSettle,
    show: ({ settled }) => `Settled report ${settled}.`,
  }),
];

type Synced = PostAnswer<'/api/admin/licenses/sync'>;

/** A password is never given on the command line; a license key may be. */
function listAsked(flags: Flags) {
  if (flags.user !== undefined) return [{ text: `password of ${flags.user}` }];
  return flags['license-key'] === undefined ? [{ text: 'license key' }] : [];
}

/** Refuses before asking for a key that could not be used. */
async function refuseWithoutCloud(client: AdminClient): Promise<RefusedAnswer | null> {
  const { ok, body } = await client.get('/api/admin/status');
  if (!ok || body.cloud.state !== 'not_configured') return null;
  const message =
    'No licensing cloud is configured. Set cloud.url and cloud.publicKey, and restart the server.';
  return { ok: false, body: { status: 400, code: 'cloud_not_configured', message } };
}

function askAdd(client: AdminClient, [product]: readonly string[], flags: Flags, [typed]: readonly string[]) {
  const { user: username, 'license-key': key } = flags;
  if (username !== undefined && key !== undefined) {
    throw new InputError('Give either a license key or a user, not both.');
  }
  if ((key ?? typed ?? '') === '') {
    throw new InputError(
      'Give the license key with --license-key, or --user and the password. The key or the password may ' +
        'also come from standard input.',
    );
  }
  const holder = username === undefined ? { license_key: key ?? typed } : { username, password: typed };
  return client.post('/api/v4/addProduct', { product, ...holder });
}

/** By the whole id: what a part of it means may have changed since it was last typed. */
async function askRemove(client: AdminClient, [id = '']: readonly string[], { locally }: Flags) {
  const path = locally ? '/api/admin/licenses/remove-locally' : '/api/v4/removeProduct';
  const answer = await client.post(path, { license_id: id });
  if (answer.ok || answer.body.code !== 'license_not_found') return answer;
  const message = answer.body.message + (await suggestLicenses(client, id));
  return { ok: false, body: { ...answer.body, message } } as const;
}

function askSettle(client: AdminClient, [id]: readonly string[], flags: Flags) {
  const isCounted = flags.counted === true;
  if (isCounted === (flags['not-counted'] === true)) {
    throw new InputError('Give either --counted or --not-counted.');
  }
  return client.post('/api/admin/reports/settle', { report_id: id, counted: isCounted });
}

function showSynced({ licenses }: Synced): string {
  if (licenses.length === 0) return 'The cloud is reachable. No license on this server comes from it.';
  return formatTable(
    ['license', 'product', ''],
    licenses.map((one) => [one.license_id, one.product, sayLeft(one) || 'in sync']),
  );
}

/** The error and the unsettled amounts; empty if there are none. Pending amounts are normal. */
function sayLeft({ error, untold }: Synced['licenses'][number]): string {
  const left = Object.entries(untold).filter(([name, amount]) => name !== 'pending' && amount !== 0);
  const amounts = left.map(([name, amount]) => `${amount} ${name.replace('_', ' ')}`).join(', ');
  const reason = error === null ? '' : `${error.code}: ${error.message}`;
  return [reason, amounts].filter((part) => part !== '').join(' ');
}

function showReports({ meters }: GetAnswer<'/api/admin/reports'>, callOf: CallOf): string {
  if (meters.length === 0) return 'No consumption of licenses from the cloud.';
  const table = formatTable(
    ['license', 'product', 'feature', 'pending', 'under way', 'uncertain', 'reported'],
    meters.map(({ license_id, product, is_removed, feature, pending, under_way, uncertain, reported }) => [
      license_id,
      is_removed ? `${product} (removed)` : product,
      feature,
      pending,
      under_way?.amount ?? 0,
      uncertain.reduce((sum, { amount }) => sum + amount, 0),
      reported,
    ]),
  );
  const held = meters.flatMap(({ uncertain }) => uncertain);
  if (held.length === 0) return table;
  const lines = held.map(({ id, amount }) => `  ${id}  ${amount}`);
  return [
    table,
    `\nUNCERTAIN: ask the vendor whether these were counted, then run "${callOf('report settle')}":`,
    ...lines,
  ].join('\n');
}
