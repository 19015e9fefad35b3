import type { GetAnswer } from '@berth/protocol/admin/admin-api';
import type { AdminClient } from './admin-client.ts';
import type { Flags } from './command.ts';
import { hasPart } from './near-users.ts';
import { InputError } from './read-secrets.ts';

type License = GetAnswer<'/api/admin/licenses'>['licenses'][number];

/** How a usage names the flags; `--license-id` is an older name of `--license`. */
export const LICENSE_USAGE = '[--product P] [--license ID]';
export const LICENSE_SYNONYM = '[--license-id N]';

type LicenseFlags = { readonly [Name in 'product' | 'license' | 'license-id']?: Flags[Name] | undefined };

/** Which licenses are meant. */
interface Scope {
  readonly product: string | undefined;
  /** As it was typed if no license of this server has it: a removed one may still have a history. */
  readonly license_id: number | string | undefined;
}

/**
 * The licenses that --product and --license mean. A unique part of a product's code or name is enough, and of
 * an id; --license also takes a product. Throws with the candidates if several are meant.
 */
export async function scopeOf(client: AdminClient, flags: LicenseFlags): Promise<Scope> {
  const { product, license = flags['license-id'] } = flags;
  if (product === undefined && license === undefined) return { product, license_id: license };
  const all = await listLicenses(client);
  const code = product === undefined ? undefined : findProduct(all, product);
  if (license === undefined) return { product: code, license_id: license };
  if (!/^\d+$/.test(license)) return { product: findProduct(all, license), license_id: undefined };
  return { product: code, license_id: findId(all, license) };
}

/** The one license that the flags mean; `undefined` if they name none. */
export async function licenseOf(client: AdminClient, flags: LicenseFlags): Promise<Scope['license_id']> {
  const { product, license_id } = await scopeOf(client, flags);
  if (product === undefined || license_id !== undefined) return license_id;
  const licenses = (await listLicenses(client)).filter((license) => license.product === product);
  if (licenses.length > 1) {
    throw new InputError(
      `"${product}" has several licenses. Choose one with --license: ${sayAll(licenses)}.`,
    );
  }
  return licenses[0]?.id;
}

/** " Did you mean …?" for an id that has to be complete. */
export async function suggestLicenses(client: AdminClient, id: string): Promise<string> {
  const near = (await listLicenses(client)).filter((license) => hasPart(String(license.id), id));
  return near.length === 0 ? '' : ` Did you mean ${sayAll(near)}?`;
}

async function listLicenses(client: AdminClient): Promise<readonly License[]> {
  const answer = await client.get('/api/admin/licenses');
  if (answer.ok) return answer.body.licenses;
  throw new InputError(answer.body.message);
}

function findProduct(licenses: readonly License[], text: string): string {
  const codes = (all: readonly License[]) => [...new Set(all.map(({ product }) => product))].sort();
  if (licenses.some(({ product }) => product === text)) return text;
  const near = codes(
    licenses.filter(
      ({ product, product_details: { product_name } }) =>
        hasPart(product, text) || hasPart(product_name, text),
    ),
  );
  const [only, ...others] = near;
  if (only !== undefined && others.length === 0) return only;
  if (only !== undefined) throw new InputError(`"${text}" may be ${near.join(', ')}. Type more of it.`);
  const known = codes(licenses).join(', ');
  const have = known === '' ? 'It has no licenses.' : `It has licenses for ${known}.`;
  throw new InputError(`This server has no license for a product like "${text}". ${have}`);
}

function findId(licenses: readonly License[], text: string): number | string {
  const exact = licenses.find(({ id }) => String(id) === text);
  if (exact !== undefined) return exact.id;
  const near = licenses.filter(({ id }) => hasPart(String(id), text));
  if (near.length > 1) throw new InputError(`"${text}" may be ${sayAll(near)}. Type more of it.`);
  return near[0]?.id ?? text;
}

/** A longer list would hide the sentence. */
const MOST_SHOWN = 10;

function sayAll(licenses: readonly License[]): string {
  const shown = licenses.slice(0, MOST_SHOWN).map(({ id, product }) => `${id} (${product})`);
  const more = licenses.length - shown.length;
  return `${shown.join(', ')}${more === 0 ? '' : ` and ${more} more`}`;
}
