import type { GetAnswer } from '@berth/protocol/admin/admin-api';
import { formatFacts, formatTable } from '@berth/shell/console/console-text';
import { type Command, defineCommand } from '../command.ts';
import { readInput } from './offline-commands.ts';

/** What applications and the vendor know this server by. */
export const IDENTITY_COMMANDS: readonly Command[] = [
  defineCommand({
    words: 'identity',
    about: 'show the keys that sign grants, and their certificates',
    ask: (client) => client.get('/api/admin/identity'),
    show: showIdentity,
  }),
  defineCommand({
    words: 'identity rotate',
    about: 'sign grants with a new key; the one before stays valid until its grants have ended',
    ask: (client) => client.post('/api/admin/identity/rotate'),
    show: (identity) => `Made key ${identity.keys[0]?.kid}.\n\n${showIdentity(identity)}`,
  }),
  defineCommand({
    words: 'identity certify',
    arguments: ['FILE'],
    about: "install the vendor's certificate for the newest key",
    ask: (client, [file = '']) =>
      client.post('/api/admin/identity/certificates', { certificate: readInput(file).trim() }),
    show: (identity) => `Installed the certificate.\n\n${showIdentity(identity)}`,
  }),
];

type Identity = GetAnswer<'/api/admin/identity'>;

function showIdentity({ hardware_id, identity_key, keys, licenses }: Identity): string {
  const [newest] = keys;
  const facts = { 'hardware id': hardware_id, 'identity key': identity_key, 'grant key': newest?.x };
  const keyRows = keys.map(({ kid, created_at, ends_at }) => [kid, created_at, ends_at ?? 'the newest']);
  const rows = licenses.map(({ license_id, product, kid, certificate, uncertified }) => [
    license_id,
    product,
    kid,
    certificate === null ? 'none' : sayCertificate(certificate.expires_at, uncertified),
  ]);
  return [
    formatFacts(facts),
    formatTable(['keys of grants', 'made at', 'in use until'], keyRows),
    ...(rows.length === 0 ? [] : [formatTable(['license', 'product', 'signed by', 'certificate'], rows)]),
  ].join('\n\n');
}

function sayCertificate(until: string, uncertified: string | null): string {
  return uncertified === null ? `until ${until}` : `until ${until}, does not cover ${uncertified}`;
}
