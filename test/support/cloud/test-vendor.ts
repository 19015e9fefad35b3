import { generateKeyPairSync } from 'node:crypto';
import {
  isActivationCode,
  makeConfirmationCode,
  readAirgapPublicKey,
  readInitializationCode,
  writeAirgapPublicKey,
} from '@berth/protocol/carried/airgap-codes';
import { writeLicenseFile } from '@berth/protocol/carried/license-file';
import { readOfflineRequest } from '@berth/protocol/carried/offline-request';
import { readKnownCertificate, writeCertificate } from '@berth/protocol/grant/server-certificate';
import { rsaKeysOf } from '../rsa-keys.ts';

/** One set of keys per test file, because generating them is slow. */
const RSA = rsaKeysOf('vendor');
const NEXT_RSA = rsaKeysOf('next vendor');
const EC = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
const INITIALIZATION = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });

type Fields = Readonly<Record<string, unknown>>;

/** A license in the vendor's format, with defaults for everything the test omits. */
export function vendorLicense(fields: Fields = {}): Fields {
  return {
    id: 4711,
    license_key: 'AAAA-BBBB-CCCC-DDDD',
    license_type: 'consumption',
    license_active: true,
    license_enabled: true,
    is_floating: true,
    floating_users: 3,
    floating_timeout: 10,
    can_borrow: true,
    max_borrow_time: 48,
    validity_period: '2035-01-01T00:00:00.000Z',
    max_consumptions: 100,
    total_consumptions: 0,
    product_features: [
      { id: 4712, code: 'export', name: 'Export', feature_type: 'consumption', max_consumptions: 10 },
    ],
    metadata: { '2': 'two', '1': 'one', note: 'Käse / \u2028' },
    customer: { company_name: 'ACME' },
    product_details: { product_id: 9, product_name: 'CAD', short_code: 'cad' },
    ...fields,
  };
}

/** A vendor without a running cloud: signs files and codes with its keys. */
export const TEST_VENDOR = {
  publicKey: RSA.publicKey,
  airgapKey: readAirgapPublicKey(writeAirgapPublicKey(EC.privateKey)) ?? EC.publicKey,
  /** The key that the vendor is about to sign with. */
  nextPublicKey: NEXT_RSA.publicKey,
  certify: (facts: Parameters<typeof writeCertificate>[0]) => writeCertificate(facts, RSA.privateKey),
  /** The same certificate under the next key. */
  certifyNext(certificate: string): string {
    const read = readKnownCertificate(certificate);
    if (read === null) throw new Error('This is no certificate.');
    return writeCertificate(read, NEXT_RSA.privateKey);
  },
  /** The license file for a request. */
  answer(request: string, fields: Fields = {}): string {
    const read = readOfflineRequest(request);
    if (read === null) throw new Error('This is no request.');
    const { request_id, hardware_id } = read.fields;
    const date = '2030-01-10T00:00:00.000Z';
    const license = vendorLicense({ request_id, hardware_id, date, ...fields });
    return writeLicenseFile(license, RSA.privateKey, { withFirst: true });
  },
  refresh(hardwareId: string, fields: Fields = {}): string {
    const license = vendorLicense({ hardware_id: hardwareId, ...fields });
    return writeLicenseFile(license, RSA.privateKey, { withFirst: false });
  },
  /** The code that starts an air-gap activation: a private key in base64. */
  initializationCode: Buffer.from(
    INITIALIZATION.privateKey.export({ format: 'jwk' }).d as string,
    'base64url',
  ).toString('base64'),
  isActivation(code: string, hardwareId: string, licenseKey: string): boolean {
    const key = readInitializationCode(TEST_VENDOR.initializationCode);
    return key !== null && isActivationCode(key, { hardwareId, licenseKey }, code);
  },
  confirm(hardwareId: string, licenseKey: string, policyId: string): string {
    return makeConfirmationCode(EC.privateKey, { hardwareId, licenseKey, policyId });
  },
  policy(fields: Fields = {}): string {
    const { license_type, ...license } = vendorLicense({ date: '2030-01-10T00:00:00.000Z', ...fields });
    const policy = { ...license, default_license_type: license_type };
    return writeLicenseFile(policy, RSA.privateKey, { withFirst: false });
  },
};
