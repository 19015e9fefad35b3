import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { describe, type TestContext, test } from 'node:test';
import { CERTIFICATE_PROOF_HEADER, proveCertificateRequest } from '@berth/protocol/cloud/certificate-proof';
import { digestRequest, NONCE_HEADER } from '@berth/protocol/cloud/cloud-binding';
import { okpJwkOf, thumbprintOf } from '@berth/protocol/grant/jws';
import { KEY_STATEMENT_HEADER, writeKeyStatement } from '@berth/protocol/grant/key-statement';
import { findHeader, setHeader } from '../../faults/cloud-mitm/messages.ts';
import type { Request } from '../../support/chaos/chaos-fault.ts';
import { forward } from '../../support/chaos/chaos-message.ts';
import { ACTIVATE, type AttackedCloud, CHECK, openAttackedCloud } from '../../support/cloud/attacked-link.ts';
import { type CloudApp, openCloudApp } from '../../support/cloud/cloud-app.ts';
import { startBefore } from '../../support/start-before.ts';
import { readEvents } from '../../support/test-app.ts';

let link: AttackedCloud;
startBefore(async (life) => {
  link = await openAttackedCloud(life);
});
const { signal } = new AbortController();

/** The keys of somebody who would like to pass as a server of the customer. */
const IDENTITY = generateKeyPairSync('ed25519');
const GRANT_KEY = okpJwkOf(generateKeyPairSync('ed25519').publicKey);
const KID = thumbprintOf(GRANT_KEY);

/** Changes the requests of one operation on their way. */
function meddle(app: CloudApp, operation: string, change: (request: Request) => Request): void {
  const answer = (request: Request) => forward(link.vendor.url, change(request), signal);
  app.proxy.setPlan(({ path }) => (path === operation ? { kind: 'meddle', answer } : { kind: 'pass' }));
}

function beHonest({ proxy }: CloudApp): void {
  proxy.setPlan({ kind: 'pass' });
}

const withHeader = (request: Request, name: string, value: string | undefined): Request => ({
  ...request,
  headers: setHeader(request.headers, name, value),
});

/** Puts the own key into the request of a server. */
const swapKey = (hardwareId: string) => (request: Request) =>
  withHeader(request, KEY_STATEMENT_HEADER, writeKeyStatement(hardwareId, GRANT_KEY, IDENTITY.privateKey));

/** The same by somebody who has stolen the shared key. */
const swapAndProve = (hardwareId: string) => (request: Request) => {
  const swapped = swapKey(hardwareId)(request);
  const read = (name: string) => findHeader(swapped.headers, name) ?? '';
  const { pathname, search } = new URL(request.target, 'http://cloud.test');
  const content = request.body.length === 0 ? search.slice(1) : request.body;
  const keyStatement = read(KEY_STATEMENT_HEADER);
  const requestDigest = digestRequest(pathname.split('/').at(-1) ?? '', content, keyStatement);
  const asked = { date: read('date'), nonce: read(NONCE_HEADER), requestDigest, hardwareId, keyStatement };
  const proof = proveCertificateRequest(link.vendor.keys.sharedKey, asked);
  return withHeader(swapped, CERTIFICATE_PROOF_HEADER, proof);
};

const removeProof = (request: Request) => withHeader(request, CERTIFICATE_PROOF_HEADER, undefined);

async function listKinds({ store }: CloudApp) {
  const kinds = ['certificate_wrong', 'certificate_missing', 'certificate_right'];
  return (await readEvents(store)).flatMap(({ kind }) => (kinds.includes(kind) ? [kind] : []));
}

async function findProblems(app: CloudApp): Promise<readonly string[]> {
  const { body } = await app.get('/api/admin/doctor');
  const findings = body.findings as { check: string; severity: string; text: string }[];
  // The clock of the server is years ahead of the cloud's, so that every certificate has ended as well.
  const doubts = findings.filter(({ text }) => /certified another|no longer certifies/.test(text));
  return doubts.map(({ check, severity, text }) => `${check} ${severity} ${text}`);
}

const listErrors = ({ log }: CloudApp) =>
  log.filter(({ level, msg }) => level === 50 && /key of this server|key than the one/.test(String(msg)));

/** Whose keys the vendor has certified for the machine. */
async function listCertified(hardwareId: string): Promise<ReadonlySet<string>> {
  const { events } = (await link.runVendor('event list --limit 1000')) as { events: readonly Issued[] };
  const issued = events.filter((one) => one.kind === 'certificate_issued' && one.hardware_id === hardwareId);
  return new Set(issued.map(({ kid }) => kid));
}

interface Issued {
  readonly kind: string;
  readonly hardware_id: string;
  readonly kid: string;
}

/** The newest key of the server, and the key that its license is certified for. */
async function readKids({ store, get }: CloudApp) {
  const [record] = await store.read({ kind: 'list_licenses', product: null });
  const { body } = await get('/api/admin/identity');
  const [{ kid }] = body.keys as [{ readonly kid: string }];
  return { own: kid, certified: record?.license.tie.certificate?.kid ?? null, record };
}

async function openNew(t: TestContext, hardwareId: string) {
  const app = await openCloudApp(t, { vendor: link.vendor, hardwareId });
  const licenseKey = await link.grant();
  return { app, add: () => app.post('/api/v4/addProduct', { product: 'cad', licenseKey }) };
}

describe('swapping the key of a server on its way to the vendor', () => {
  for (const [operation, name] of [
    [ACTIVATE, 'an activation'],
    [CHECK, 'a check'],
  ] as const) {
    test(`in ${name} certifies nothing, and the server says so`, async (t) => {
      const hardwareId = `swapped-${name.split(' ')[1]}`;
      const { app, add } = await openNew(t, hardwareId);
      if (operation === CHECK) assert.equal((await add()).status, 200);
      const { record: before } = await readKids(app);
      meddle(app, operation, swapKey(hardwareId));
      const answer =
        operation === ACTIVATE ? await add() : { status: 503, text: JSON.stringify(await app.sync()) };
      assert.deepEqual([answer.status, /was changed on its way/.test(answer.text)], [503, true], answer.text);
      assert.deepEqual(
        (await readKids(app)).record?.license,
        before?.license,
        'nothing of the answer is used',
      );
      assert.ok(!(await listCertified(hardwareId)).has(KID));
      beHonest(app);
      if (operation === ACTIVATE) assert.equal((await add()).status, 200);
      assert.equal((await app.sync()).licenses[0]?.error, null);
      const { own, certified } = await readKids(app);
      assert.equal(certified, own);
      assert.deepEqual([...(await listCertified(hardwareId))], [own]);
    });
  }

  test('with a stolen shared key is reported once, until the vendor certifies the right one', async (t) => {
    const hardwareId = 'swapped-with-secret';
    const { app, add } = await openNew(t, hardwareId);
    meddle(app, ACTIVATE, swapAndProve(hardwareId));
    for (let times = 0; times < 2; times++) {
      const answer = await add();
      assert.equal(answer.status, 503, answer.text);
      assert.match(answer.text, /certified the key .* not the key of this server/);
    }
    assert.ok((await listCertified(hardwareId)).has(KID), 'the attack as such has worked');
    assert.deepEqual(await listKinds(app), ['certificate_wrong']);
    assert.equal(listErrors(app).length, 1);
    assert.match((await findProblems(app)).join(), /certified another key/);
    beHonest(app);
    assert.equal((await add()).status, 200);
    const { body } = await app.get('/api/admin/identity');
    assert.equal((await readKids(app)).certified, null, 'the vendor knows the machine by the other key');
    assert.match((await findProblems(app)).join(), /certified another key/);
    await link.runVendor(`device approve ${hardwareId} ${body.identity_key}`);
    assert.equal((await app.sync()).licenses[0]?.error, null);
    assert.notEqual((await readKids(app)).certified, null);
    assert.deepEqual(await listKinds(app), ['certificate_wrong', 'certificate_right']);
    assert.deepEqual(await findProblems(app), []);
  });
});

describe('withholding the certificate of a server', () => {
  test('is reported once, until there is one again', async (t) => {
    const { app } = await link.openServer(t, 'bound');
    const { certified } = await readKids(app);
    assert.notEqual(certified, null);
    meddle(app, CHECK, removeProof);
    for (let times = 0; times < 2; times++) assert.equal((await app.sync()).licenses[0]?.error, null);
    assert.deepEqual(await listKinds(app), ['certificate_missing']);
    assert.equal(listErrors(app).length, 1);
    assert.match((await findProblems(app)).join(), /no longer certifies/);
    assert.equal((await readKids(app)).certified, certified, 'it goes on with what it has');
    beHonest(app);
    await app.sync();
    assert.deepEqual(await listKinds(app), ['certificate_missing', 'certificate_right']);
    assert.deepEqual(await findProblems(app), []);
  });

  test('is nothing new for a cloud that does not know nonces', async (t) => {
    const { app } = await link.openServer(t, 'older');
    assert.equal((await app.sync()).licenses[0]?.error, null);
    assert.deepEqual([await listKinds(app), await findProblems(app)], [[], []]);
  });
});
