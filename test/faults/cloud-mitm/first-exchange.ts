import { generateKeyPairSync } from 'node:crypto';
import { isRefusal } from '@berth/cloud/core/refusal';
import { type DataFolder, openDataFolder } from '@berth/cloud/store/data-folder';
import { listDevices } from '@berth/cloud/store/devices';
import { listEvents } from '@berth/cloud/store/events';
import { createLicense } from '@berth/cloud/store/licenses';
import { createProduct, findProduct } from '@berth/cloud/store/products';
import { fingerprintKey } from '@berth/protocol/cloud/vendor-signature';
import { okpJwkOf } from '@berth/protocol/grant/jws';
import { writeKeyStatement } from '@berth/protocol/grant/key-statement';
import { RequestError } from '@berth/protocol/request-error';
import { CloudFault } from '../../../packages/server/src/cloud/cloud.ts';
import { type License, licenseId } from '../../../packages/server/src/core/nouns/license.ts';
import type { CloudLink } from '../../../packages/server/src/services/cloud/cloud-link.ts';
import type { Answer, Request } from '../../support/chaos/chaos-fault.ts';
import { forward } from '../../support/chaos/chaos-message.ts';
import { type CloudApp, openCloudApp } from '../../support/cloud/cloud-app.ts';
import type { CloudProcess } from '../../support/cloud/cloud-process.ts';
import { type Change, changesOfAnswer, changesOfRequest, type Foreign } from './places.ts';

/** An exchange between a server and its cloud, with one place of one message changed on the way. */
export interface Case {
  readonly name: string;
  /** What must not have happened, and did. */
  run(): Promise<readonly string[]>;
}

const PRODUCT = 'cad';
const OTHER_PRODUCT = 'other';
const SLOTS = 5;

const PATHS = { activation: '/api/v4/activate_license', check: '/api/v4/check_license' } as const;
type Exchange = keyof typeof PATHS;

/** A license that the vendor has granted, and a machine that has never been there before. */
interface Subject {
  readonly key: string;
  readonly id: number;
  readonly hardwareId: string;
  readonly link: CloudLink;
}

interface World {
  readonly cloud: CloudProcess;
  readonly folder: DataFolder;
  readonly app: CloudApp;
  readonly fingerprint: string;
  /** The key that the server wants to be certified. */
  readonly ownKid: string;
  machines: number;
}

type Life = { after(work: () => unknown): void };

/** Every place of the messages of an activation and of a check, one after the other. */
export async function listCases(t: Life, cloud: CloudProcess): Promise<readonly Case[]> {
  const world = await openWorld(t, cloud);
  return [...(await listCasesOf(world, 'activation')), ...(await listCasesOf(world, 'check'))];
}

async function openWorld(t: Life, cloud: CloudProcess): Promise<World> {
  const folder = openDataFolder(cloud.data);
  t.after(() => folder.close());
  for (const code of [PRODUCT, OTHER_PRODUCT]) {
    const product = { code, name: null, authorizationMethod: 'license-key' } as const;
    if (findProduct(folder.store, code) === null) createProduct(folder.store, product, Date.now());
  }
  const app = await openCloudApp(t, { vendor: cloud, hardwareId: 'first-exchange' });
  const { body } = await app.get('/api/admin/identity');
  const [{ kid }] = body.keys as [{ kid: string }];
  return { cloud, folder, app, fingerprint: fingerprintKey(app.vendorKey), ownKid: kid, machines: 0 };
}

function openSubject(world: World): Subject {
  const { store } = world.folder;
  const draft = { product: PRODUCT, key: null, user: null, terms: { slots: SLOTS, maxActivations: null } };
  const made = createLicense(store, draft, Date.now());
  if (isRefusal(made)) throw new Error(made.message);
  world.machines += 1;
  const hardwareId = `machine-${world.machines}`;
  return { key: made.key, id: made.id, hardwareId, link: world.app.asMachine(hardwareId) };
}

/** The man in the middle knows other licenses of the vendor, and has keys of his own, but no shared key. */
function makeForeign(world: World, { hardwareId }: Subject): Foreign {
  const [identity, grantKey] = [generateKeyPairSync('ed25519'), generateKeyPairSync('ed25519')];
  return {
    'berth-grant-key': writeKeyStatement(hardwareId, okpJwkOf(grantKey.publicKey), identity.privateKey),
    'berth-nonce': '0123456789abcdef0123456789abcdef',
    hardware_id: 'elsewhere',
    license_key: openSubject(world).key,
    product: OTHER_PRODUCT,
    date: new Date(Date.now() - 60_000).toUTCString(),
    host: 'elsewhere.example',
  };
}

/** Looks at an honest exchange first, to know all places. */
async function listCasesOf(world: World, kind: Exchange): Promise<readonly Case[]> {
  const subject = openSubject(world);
  const seen: { request: Request; answer: Answer }[] = [];
  listen(world, kind, async (request) => {
    const answer = await pass(world, request);
    if (answer !== null) seen.push({ request, answer });
    return answer;
  });
  if (kind === 'check') await add(subject);
  await (kind === 'check' ? sync(subject) : add(subject));
  const [{ request, answer } = fail('Nothing was exchanged.')] = seen;
  const foreign = makeForeign(world, subject);
  const there = changesOfRequest(request, foreign).map(({ name }) => name);
  const back = changesOfAnswer(answer, foreign).map(({ name }) => name);
  return [
    ...there.map((name) => makeCase(world, kind, 'request', name)),
    ...back.map((name) => makeCase(world, kind, 'answer', name)),
  ];
}

function makeCase(world: World, kind: Exchange, way: 'request' | 'answer', name: string): Case {
  return {
    name: `${kind}, ${way}: ${name}`,
    run: () => runCase(world, kind, (message, foreign) => changeOne(way, name, message, foreign)),
  };
}

interface Message {
  readonly request: Request;
  readonly answer: Answer | null;
}

/** Applies the change of this name, if this message has the place. */
function changeOne(way: 'request' | 'answer', name: string, message: Message, foreign: Foreign): Message {
  const find = <M>(changes: readonly Change<M>[]) => changes.find((one) => one.name === name);
  const { request, answer } = message;
  if (way === 'request' && answer === null) {
    const change = find(changesOfRequest(request, foreign));
    return change === undefined ? message : { request: change.apply(request), answer };
  }
  if (way === 'request' || answer === null) return message;
  const change = find(changesOfAnswer(answer, foreign));
  return change === undefined ? message : { request, answer: change.apply(answer) };
}

async function runCase(
  world: World,
  kind: Exchange,
  change: (message: Message, foreign: Foreign) => Message,
): Promise<readonly string[]> {
  const { store } = world.app;
  const subject = openSubject(world);
  const foreign = makeForeign(world, subject);
  beHonest(world);
  if (kind === 'check') await add(subject);
  // Before the first bound answer the server cannot know that this cloud binds its answers.
  const released = {
    kind: 'cloud_released_from_nonces',
    fingerprint: world.fingerprint,
    by: 'admin',
  } as const;
  if (kind === 'activation') await store.execute({ kind: 'note', notice: released });
  const before = await find(world, subject);
  let answered: Answer | null = null;
  listen(world, kind, async (request) => {
    const sent = change({ request, answer: null }, foreign).request;
    const answer = await pass(world, sent);
    answered = answer === null ? null : change({ request: sent, answer }, foreign).answer;
    return answered;
  });
  const error = await (kind === 'check' ? sync(subject) : add(subject));
  const found = [...judgeCloud(world, subject, error), ...(await judgeServer(world, subject, before, error))];
  if (error === null && kind === 'check' && !hasCertificate(answered)) {
    if (!(await isDoubted(world, subject))) found.push('it accepted an answer without certificate silently');
  }
  beHonest(world);
  found.push(...(await judgeRecovery(world, subject)));
  // Every case has a license of its own, and a server with hundreds of them is slower.
  const removal = { product: null, licenseId: licenseId(subject.id), licenseKey: null };
  await subject.link.remove(removal, true, 'admin');
  return found;
}

/** Whatever reached the cloud: nobody else's key is certified, and the vendor sees what else happened. */
function judgeCloud({ folder, ownKid }: World, { id, hardwareId }: Subject, error: string | null): string[] {
  const { store } = folder;
  const events = listEvents(store, id, 100);
  const issued = events.filter(({ kind }) => kind === 'certificate_issued');
  const others = issued.filter(({ facts }) => facts.kid !== ownKid || facts.hardware_id !== hardwareId);
  const machines = listDevices(store, id).map((device) => device.hardwareId);
  return [
    ...others.map(({ facts }) => `the vendor has certified ${facts.kid} for ${facts.hardware_id}`),
    ...(error === null && machines.join() !== hardwareId
      ? [`it is activated for ${machines.join(' and ')}`]
      : []),
    ...(error === null && issued.length === 0 && !events.some(({ kind }) => kind === 'certificate_refused')
      ? ['it was not certified, and the vendor cannot see why']
      : []),
  ];
}

/** The server holds what the vendor has granted, or what it held before and somebody was told why. */
async function judgeServer(
  world: World,
  subject: Subject,
  before: License | undefined,
  error: string | null,
): Promise<string[]> {
  const now = await find(world, subject);
  if (error !== null) {
    const isSame = JSON.stringify(grantedOf(now)) === JSON.stringify(grantedOf(before));
    return isSame ? [] : [`it refused (${error}), and holds ${JSON.stringify(grantedOf(now))}`];
  }
  const { key, hardwareId } = subject;
  const wanted = [key, PRODUCT, SLOTS, true, true, hardwareId];
  const held = now === undefined ? [] : grantedOf(now).slice(0, wanted.length);
  const kid = now?.tie.certificate?.kid ?? world.ownKid;
  return [
    ...(JSON.stringify(held) === JSON.stringify(wanted) ? [] : [`it holds ${JSON.stringify(held)}`]),
    ...(kid === world.ownKid ? [] : [`it has a certificate for ${kid}`]),
  ];
}

function grantedOf(license: License | undefined): readonly unknown[] {
  if (license === undefined) return [];
  const { key, product, slots, enabled, active, tie } = license;
  return [key, product, slots, enabled, active, tie.hardwareId, tie.certificate?.texts];
}

/** Once nobody is in between, everything is as it would have been. */
async function judgeRecovery(world: World, subject: Subject): Promise<string[]> {
  const errors = [await add(subject), await sync(subject)].filter((error) => error !== null);
  const kid = (await find(world, subject))?.tie.certificate?.kid;
  return [
    ...errors.map((error) => `afterwards: ${error}`),
    ...(kid === world.ownKid ? [] : [`afterwards it has no certificate (${kid})`]),
    ...((await isDoubted(world, subject)) ? ['afterwards its certificate is still in doubt'] : []),
  ];
}

function hasCertificate(answer: Answer | null): boolean {
  return answer?.body.includes('"server_certificates"') === true;
}

async function isDoubted({ app }: World, { id }: Subject): Promise<boolean> {
  const kinds = ['certificate_wrong', 'certificate_missing'] as const;
  const lists = await Promise.all(kinds.map((of) => app.store.read({ kind: 'list_notices', of })));
  return lists.flat().includes(String(id));
}

async function find({ app }: World, { id }: Subject): Promise<License | undefined> {
  const records = await app.store.read({ kind: 'list_licenses', product: null });
  return records.find(({ license }) => license.id === id)?.license;
}

function beHonest({ app }: World): void {
  app.proxy.setPlan({ kind: 'pass' });
}

function listen({ app }: World, kind: Exchange, answer: (request: Request) => Promise<Answer | null>): void {
  app.proxy.setPlan(({ path }) => (path === PATHS[kind] ? { kind: 'meddle', answer } : { kind: 'pass' }));
}

const { signal } = new AbortController();

function pass({ cloud }: World, request: Request): Promise<Answer | null> {
  return forward(cloud.url, request, signal).catch(() => null);
}

/** Why it was refused, as an administrator is told; `null`: it was not. */
async function add({ key, link }: Subject): Promise<string | null> {
  const request = { product: PRODUCT, licenseKey: key, username: null, password: null };
  return tellError(link.add(request, 'admin').then(() => null));
}

async function sync({ id, link }: Subject): Promise<string | null> {
  return tellError(link.sync(licenseId(id)).then(([result]) => result?.error?.message ?? null));
}

async function tellError(work: Promise<string | null>): Promise<string | null> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof CloudFault || error instanceof RequestError) return error.message;
    throw error;
  }
}

function fail(message: string): never {
  throw new Error(message);
}
