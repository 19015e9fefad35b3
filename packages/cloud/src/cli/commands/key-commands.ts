import { writeAirgapPublicKey } from '@berth/protocol/carried/airgap-codes';
import { formatFacts, formatTable } from '@berth/shell/console/console-text';
import type { AuthorizationMethod } from '../../core/license.ts';
import { ValueError } from '../../core/read-values.ts';
import { isRefusal, type Refusal } from '../../core/refusal.ts';
import { exportPublicKeys } from '../../store/keys/key-files.ts';
import { type CallerKey, createKey, disableKey, listKeys } from '../../store/keys/keys.ts';
import { createProduct, listProducts } from '../../store/products.ts';
import type { Call, Command } from '../command.ts';
import { readCustomer } from './license-flags.ts';
import { presentKey, presentProductRow } from './present.ts';

type Facts = Readonly<Record<string, unknown>>;

export const KEY_COMMANDS: readonly Command[] = [
  {
    words: 'key create',
    usage: '[--name N] [--customer NAME]',
    about: 'create an API key and its shared key; shown only once',
    mayCreate: true,
    run: runCreateKey,
    show: (key: Facts) =>
      formatFacts({
        name: key.name,
        ...(key.customer === null ? {} : { customer: key.customer }),
        'API key': key.api_key,
        'shared key': key.shared_key,
      }),
  },
  {
    words: 'key list',
    about: 'list the keys, without their secrets',
    run: ({ store }) => ({ keys: listKeys(store).map(presentKey) }),
    show: showKeys,
  },
  {
    words: 'key disable',
    arguments: ['NAME|API-KEY-PREFIX'],
    about: 'stop accepting requests with this key',
    run: ({ store, words, now }) => presentUnlessRefused(disableKey(store, words[0] as string, now)),
    show: ({ name }: Facts) => `Disabled key "${name}".`,
  },
  {
    words: 'public-key',
    about: 'show the public keys with which servers and applications verify what the vendor signs',
    mayCreate: true,
    run: ({ signingKeys }) => ({ public_key: exportPublicKeys(signingKeys.all) }),
    show: ({ public_key: pem }: Facts) => String(pem).trimEnd(),
  },
  {
    words: 'airgap-public-key',
    about: 'show the public key with which servers verify confirmation codes',
    mayCreate: true,
    run: ({ airgapKey }) => ({ airgap_public_key: writeAirgapPublicKey(airgapKey) }),
    show: ({ airgap_public_key: key }: Facts) => String(key),
  },
  {
    words: 'product create',
    arguments: ['CODE'],
    usage: '[--name N] [--authorization license-key|user]',
    about: 'add a product, and how its licenses are activated',
    mayCreate: true,
    run: runCreateProduct,
    show: ({ short_code: code }: Facts) => `Added product "${code}".`,
  },
  {
    words: 'product list',
    about: 'list the products',
    run: ({ store }) => ({ products: listProducts(store).map(presentProductRow) }),
    show: showProducts,
  },
];

function runCreateKey({ store, flags, now }: Call): unknown {
  const customer = readCustomer(flags) ?? null;
  const key = createKey(store, flags.name ?? null, now, customer);
  if (isRefusal(key)) return key;
  return { name: key.name, customer, api_key: key.apiKey, shared_key: key.sharedKey };
}

function presentUnlessRefused(key: CallerKey | Refusal): unknown {
  return isRefusal(key) ? key : presentKey(key);
}

function showKeys({ keys }: { keys: readonly Facts[] }): string {
  if (keys.length === 0) return 'No keys.';
  const rows = keys.map(({ name, customer, fingerprint, enabled, created_at }) => [
    name,
    customer,
    fingerprint,
    enabled,
    created_at,
  ]);
  return formatTable(['name', 'customer', 'API key', 'enabled', 'created at'], rows);
}

const METHODS: readonly AuthorizationMethod[] = ['license-key', 'user'];

function runCreateProduct({ store, words, flags, now }: Call): unknown {
  const wanted = flags.authorization ?? 'license-key';
  const authorizationMethod = METHODS.find((method) => method === wanted);
  if (authorizationMethod === undefined) {
    throw new ValueError(`"authorization" cannot be "${wanted}". Allowed: ${METHODS.join(', ')}.`);
  }
  const draft = { code: words[0] as string, name: flags.name ?? null, authorizationMethod };
  const product = createProduct(store, draft, now);
  return isRefusal(product) ? product : presentProductRow(product);
}

function showProducts({ products }: { products: readonly Facts[] }): string {
  if (products.length === 0) return 'No products.';
  const rows = products.map((one) => [
    one.product_id,
    one.short_code,
    one.product_name,
    one.authorization_method,
  ]);
  return formatTable(['id', 'code', 'name', 'authorization'], rows);
}
