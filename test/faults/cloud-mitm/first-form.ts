import { generateKeyPairSync, sign } from 'node:crypto';
import type { TestContext } from 'node:test';
import { listDevices } from '@berth/cloud/store/devices';
import { listEvents } from '@berth/cloud/store/events';
import { approveKey, listWaitingKeys } from '@berth/cloud/store/keys/waiting-keys';
import { getLicense } from '@berth/cloud/store/licenses';
import { okpJwkOf } from '@berth/protocol/grant/jws';
import type { RawHeaders } from '../../support/chaos/chaos-fault.ts';
import { generate, openOfflineApp, upload } from '../../support/cloud/offline-app.ts';
import { createTestPortal, given } from '../../support/cloud/test-portal.ts';
import type { TestApp } from '../../support/test-app.ts';
import type { Case } from './first-exchange.ts';
import { type Change, changeHeaders, changeMembers, type Foreign } from './places.ts';

const SLOTS = 5;
const PRODUCT = 'cad';

type Portal = ReturnType<typeof createTestPortal>;

/** What a browser sends from the page, and what comes back. */
interface Form {
  readonly headers: RawHeaders;
  /** The JSON in the file of the server. */
  readonly file: string;
  readonly licenseKey: string;
}

interface FormChange {
  readonly name: string;
  readonly there?: (form: Form) => Form;
  /** The JSON in the file of the vendor. */
  readonly back?: (file: string) => string;
}

const HEADERS: RawHeaders = [
  ...['Host', 'cloud.test', 'Origin', 'http://cloud.test', 'Sec-Fetch-Site', 'same-origin'],
  ...['User-Agent', 'Mozilla/5.0', 'Accept', 'text/html', 'Cookie', 'a=b'],
];

/** Every header and field of the form with which a person fetches the license of an offline server. */
export async function listPortalCases(t: TestContext): Promise<readonly Case[]> {
  const portal = createTestPortal(t);
  let machines = 0;
  const open = async () => {
    machines += 1;
    const hardwareId = `carried-${machines}`;
    const app = await openOfflineApp(t, { vendorKey: portal.cloud.publicKey, hardwareId });
    return { portal, app, hardwareId, key: portal.cloud.grant({ slots: SLOTS, maxActivations: null }) };
  };
  const sample = await open();
  const request = decode(await generate(sample.app, { product: PRODUCT, license_key: sample.key }));
  const { body } = await handIn(portal, { headers: HEADERS, file: request, licenseKey: '' }, 'sample');
  const changes = [...listThere(portal, request), ...listBack(decode(body))];
  return changes.map((change) => ({
    name: `portal, ${change.name}`,
    run: async () => runCase(await open(), change),
  }));
}

const decode = (file: string) => Buffer.from(file, 'base64').toString();
const encode = (text: string) => Buffer.from(text).toString('base64');

/** The man in the middle has keys of his own, and another license. */
function makeForeign(portal: Portal): Foreign {
  const jwk = okpJwkOf(generateKeyPairSync('ed25519').publicKey);
  return {
    hardware_id: 'elsewhere',
    license_key: portal.cloud.grant({ slots: SLOTS, maxActivations: null }),
    product: 'other',
    grant_key: jwk.x,
    request_id: '01234567-89ab-4cde-8f01-23456789abcd',
  };
}

function listThere(portal: Portal, sample: string): readonly FormChange[] {
  const foreign = makeForeign(portal);
  const { request: fields } = JSON.parse(sample) as { readonly request: Readonly<Record<string, unknown>> };
  const headers = changeHeaders<Form>({ headers: HEADERS, file: '', licenseKey: '' }, foreign);
  const inFile = (change: Change<string>) => (form: Form) => ({ ...form, file: change.apply(form.file) });
  const members = changeMembers(fields, foreign).map(
    ({ name, apply }): FormChange => ({
      name: `request: ${name}`,
      there: (form) => ({ ...form, file: withRequest(form.file, apply) }),
    }),
  );
  const signed = Object.keys(fields).map(
    (name): FormChange => ({
      name: `request: "${name}" replaced and signed by somebody else`,
      there: (form) => ({ ...form, file: signAnew(form.file, { [name]: foreign[name] ?? fields[name] }) }),
    }),
  );
  return [
    ...headers.map(({ name, apply }) => ({ name: `request: ${name}`, there: apply })),
    ...changeMembers({ signature: '' }, foreign).map((one) => ({
      name: `request: ${one.name}`,
      there: inFile(one),
    })),
    ...members,
    ...signed,
    {
      name: 'request: "license_key" beside the file replaced',
      there: (form) => ({ ...form, licenseKey: foreign.license_key ?? '' }),
    },
  ];
}

function listBack(sample: string): readonly FormChange[] {
  const changes = changeMembers(JSON.parse(sample), { hardware_id: 'elsewhere', server_certificates: 'x' });
  return changes.map(({ name, apply }) => ({ name: `answer: ${name}`, back: apply }));
}

/** Keeps the signature, as it was written. */
function withRequest(file: string, change: (text: string) => string): string {
  const [, text = '', rest = ''] = /^\{"request":(.*),("signature":"[^"]*"\})$/s.exec(file) ?? [];
  return `{"request":${change(text)},${rest}`;
}

function signAnew(file: string, fields: object): string {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  const server_key = publicKey.export({ type: 'spki', format: 'der' }).toString('base64');
  const text = JSON.stringify({ ...JSON.parse(file).request, ...fields, server_key });
  const signature = sign(null, Buffer.from(text), privateKey).toString('base64');
  return `{"request":${text},"signature":${JSON.stringify(signature)}}`;
}

/** Each case comes from another place, so that none is slowed down by the guesses of the others. */
async function handIn({ cloud }: Portal, { headers, file, licenseKey }: Form, place: string) {
  const form = new FormData();
  form.set('file', new Blob([encode(file)]), 'a.req');
  form.set('license_key', licenseKey);
  const sent = new Headers();
  for (let at = 0; at < headers.length; at += 2) sent.append(String(headers[at]), String(headers[at + 1]));
  const answer = await cloud.send('/portal/offline', { method: 'POST', headers: sent, body: form }, place);
  return { status: answer.status, body: answer.text };
}

interface Subject {
  readonly portal: Portal;
  readonly app: TestApp;
  readonly hardwareId: string;
  readonly key: string;
}

async function runCase(subject: Subject, { there = (form) => form, back = (file) => file }: FormChange) {
  const { portal, app, hardwareId, key } = subject;
  const honest = {
    ...{ headers: HEADERS, licenseKey: '' },
    file: decode(await generate(app, { product: PRODUCT, license_key: key })),
  };
  const given = await handIn(portal, there(honest), hardwareId);
  if (given.status === 200) await upload(app, encode(back(decode(given.body))));
  const found = await judge(subject);
  return [...found, ...(await judgeRecovery(subject))];
}

async function findLicense({ app }: Subject) {
  const records = await app.store.read({ kind: 'list_licenses', product: null });
  return records.map(({ license }) => license)[0];
}

/** The server holds nothing, or the license that it asked for. Nobody's key is certified. */
async function judge(subject: Subject): Promise<string[]> {
  const { portal, hardwareId, app } = subject;
  const license = await findLicense(subject);
  const issued = listEvents(portal.store, null, 1000).filter(
    ({ kind, facts }) =>
      kind === 'certificate_issued' && [hardwareId, 'elsewhere'].includes(`${facts.hardware_id}`),
  );
  const doubts = await app.store.read({ kind: 'list_notices', of: 'certificate_wrong' });
  const found = [
    ...issued.map(({ facts }) => `the vendor has certified ${facts.kid} for ${facts.hardware_id}`),
    ...doubts.map((id) => `its certificate for ${id} is in doubt, although there is none`),
  ];
  if (license === undefined) return found;
  const { key, slots, tie } = license;
  if (key !== subject.key) found.push('it holds a license that it did not ask for');
  const machines = listDevices(portal.store, given(getLicense(portal.store, key)).id);
  const held = JSON.stringify([
    slots,
    tie.hardwareId,
    tie.certificate,
    machines.map((one) => one.hardwareId),
  ]);
  const isGranted = held === JSON.stringify([SLOTS, hardwareId, undefined, [hardwareId]]);
  return isGranted ? found : [...found, `it holds ${held}`];
}

/** The next honest file is answered, or the person is told which key is in the way, as the vendor is. */
async function judgeRecovery(subject: Subject): Promise<string[]> {
  const { portal, app, hardwareId, key } = subject;
  const tryAgain = async () => {
    portal.cloud.now += 1000;
    const file = decode(await generate(app, { product: PRODUCT, license_key: key }));
    const again = await handIn(portal, { headers: HEADERS, file, licenseKey: '' }, `${hardwareId} later`);
    return again.status === 200 ? (await upload(app, again.body)).status : again.body;
  };
  const first = await tryAgain();
  // Somebody else has activated it for this machine, which the vendor takes back.
  if (first === 200 || /known by a different key/.test(String(first))) return [];
  const waiting = listWaitingKeys(portal.store, null).filter((one) => one.hardwareId === hardwareId);
  if (waiting.length === 0) return [`afterwards it is refused, and the vendor cannot see why: ${first}`];
  const { body } = await app.get('/api/admin/identity');
  given(approveKey(portal.store, hardwareId, String(body.identity_key), portal.cloud.now));
  const second = await tryAgain();
  return second === 200 ? [] : [`afterwards it is refused even though the vendor has approved it: ${second}`];
}
