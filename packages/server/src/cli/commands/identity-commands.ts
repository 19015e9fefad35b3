import { formatFacts, formatTable } from '@berth/protocol/console/console-text';
import type { Command } from '../command.ts';
import { readInput } from './offline-commands.ts';

/** What applications and the vendor know this server by. */
export const IDENTITY_COMMANDS: readonly Command[] = [
  {
    words: 'identity',
    about: 'show the keys that sign grants, and their certificates',
    ask: (client) => client.get('/api/admin/identity'),
    show: showIdentity,
  },
  {
    words: 'identity rotate',
    about: 'sign grants with a new key; the one before stays valid until its grants have ended',
    ask: (client) => client.post('/api/admin/identity/rotate'),
    show: (identity: Identity) => `Made key ${identity.keys[0]?.kid}.\n\n${showIdentity(identity)}`,
  },
  {
    words: 'identity certify',
    arguments: ['FILE'],
    about: "install the vendor's certificate for the newest key",
    ask: (client, [file = '']) =>
      client.post('/api/admin/identity/certificates', { certificate: readInput(file).trim() }),
    show: (identity: Identity) => `Installed the certificate.\n\n${showIdentity(identity)}`,
  },
];

interface Identity {
  readonly hardware_id: string;
  readonly identity_key: string;
  readonly keys: readonly GrantKey[];
  readonly licenses: readonly CertifiedLicense[];
}

interface GrantKey {
  readonly kid: string;
  readonly x: string;
  readonly created_at: string;
  readonly ends_at: string | null;
}

interface CertifiedLicense {
  readonly license_id: number;
  readonly product: string;
  readonly kid: string;
  readonly certificate: { readonly issued_at: string; readonly expires_at: string } | null;
  readonly uncertified: string | null;
}

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
