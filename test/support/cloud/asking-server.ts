import { generateKeyPairSync } from 'node:crypto';
import {
  CERTIFICATE_PROOF_HEADER,
  type CertificateRequest,
  proveCertificateRequest,
} from '@berth/protocol/cloud/certificate-proof';
import type { CloudKeys } from '@berth/protocol/cloud/cloud-authorization';
import { digestRequest, makeNonce, NONCE_HEADER } from '@berth/protocol/cloud/cloud-binding';
import { okpJwkOf } from '@berth/protocol/grant/jws';
import { KEY_STATEMENT_HEADER, writeKeyStatement } from '@berth/protocol/grant/key-statement';
import { type Answer, signedHeaders, type TestCloud } from './test-cloud.ts';

interface Change {
  /** What is proven, if it is not what is sent. */
  readonly proven?: Partial<CertificateRequest>;
  /** Headers on their way; `undefined` removes one. */
  readonly sent?: Readonly<Record<string, string | undefined>>;
  readonly keys?: CloudKeys;
  readonly nonce?: string;
}

/** A server that asks the cloud for certificates, as the wire shows it. */
export function createAskingServer(cloud: TestCloud, hardwareId: string, keys: CloudKeys = cloud.keys) {
  const identity = generateKeyPairSync('ed25519');
  let grantKey = okpJwkOf(generateKeyPairSync('ed25519').publicKey);

  async function ask(
    operation: 'activate_license' | 'check_license',
    licenseKey: string,
    change: Change = {},
  ) {
    const fields = { product: 'cad', license_key: licenseKey, hardware_id: hardwareId };
    const isCheck = operation === 'check_license';
    const content = isCheck ? `${new URLSearchParams(fields)}` : JSON.stringify(fields);
    const signed = signedHeaders(change.keys ?? keys, cloud.now);
    const keyStatement = writeKeyStatement(hardwareId, grantKey, identity.privateKey);
    const nonce = change.nonce ?? makeNonce();
    const requestDigest = digestRequest(operation, content, keyStatement);
    const request = { date: signed.Date ?? '', nonce, requestDigest, hardwareId, keyStatement };
    const { sharedKey } = change.keys ?? keys;
    const headers = {
      ...signed,
      [NONCE_HEADER]: nonce,
      [KEY_STATEMENT_HEADER]: keyStatement,
      [CERTIFICATE_PROOF_HEADER]: proveCertificateRequest(sharedKey, { ...request, ...change.proven }),
      ...change.sent,
    };
    const wired = Object.entries(headers).filter(
      (entry): entry is [string, string] => entry[1] !== undefined,
    );
    const send = isCheck ? cloud.get : cloud.post;
    return { ...certificatesIn(await send(operation, fields, Object.fromEntries(wired))), requestDigest };
  }

  return {
    hardwareId,
    get x() {
      return grantKey.x;
    },
    rotate() {
      grantKey = okpJwkOf(generateKeyPairSync('ed25519').publicKey);
    },
    /** The statement of another key under this identity. */
    stateOther: () =>
      writeKeyStatement(
        hardwareId,
        okpJwkOf(generateKeyPairSync('ed25519').publicKey),
        generateKeyPairSync('ed25519').privateKey,
      ),
    activate: (licenseKey: string, change?: Change) => ask('activate_license', licenseKey, change),
    check: (licenseKey: string, change?: Change) => ask('check_license', licenseKey, change),
  };
}

function certificatesIn(answer: Answer) {
  const { server_certificates: certificates = [] } = answer.body as {
    server_certificates?: readonly string[];
  };
  return { answer, certificates };
}
