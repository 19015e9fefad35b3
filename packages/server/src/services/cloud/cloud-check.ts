import {
  CloudFault,
  type CloudHost,
  type CloudRefusal,
  type CloudReply,
  type Identification,
  OtherLicense,
  UNPROVEN,
  type Vouched,
  WrongCertificate,
} from '../../cloud/cloud.ts';
import type { CloudCounts } from '../../core/command.ts';
import type { Actor } from '../../core/nouns/actor.ts';
import { type Certificate, isVerdict, type License, type Verdict } from '../../core/nouns/license.ts';
import type { Store } from '../../store/store.ts';
import type { Certification } from '../grants/certification.ts';
import type { Identity } from '../identity/identity.ts';
import type { CloudSession } from './cloud-session.ts';

/** The result of checking a license at the cloud. */
type CheckResult =
  | { readonly kind: 'checked'; readonly counted: CloudCounts }
  | { readonly kind: 'refused'; readonly refusal: CloudRefusal };

export interface CheckParts {
  readonly store: Store;
  readonly session: CloudSession;
  readonly identity: Identity;
  readonly host: CloudHost;
  readonly certification: Certification;
}

/**
 * Checks a license at the cloud and updates the store. Only a signed license or a signed refusal of this
 * license changes anything; other failures concern the link. A license that was moved here with its data
 * from another machine is activated on this one. `acceptedBy`: who accepts totals that are lower than before
 * and may be old.
 */
export async function checkLicense(
  parts: CheckParts,
  license: License,
  acceptedBy?: Actor,
): Promise<CheckResult> {
  const { store, session, identity, host, certification } = parts;
  const { now: askedAt } = await store.keepClock();
  const hardwareId = await identity.readHardwareId();
  const mustMove = license.tie.movedAt !== null;
  if (mustMove && license.tie.username !== null) return { kind: 'refused', refusal: NEEDS_PASSWORD };
  const tie = mustMove ? moveHere(license.tie, hardwareId) : license.tie;
  const meant = identify({ ...license, tie }, hardwareId);
  const reply = await askForCertificate(certification, meant, (asked) =>
    session.ask(license.id, (cloud, keys) =>
      requireSame(license, mustMove ? cloud.activate(keys, asked, host) : cloud.check(keys, asked)),
    ),
  ).catch((error: unknown) => noteDoubt(store, license, error));
  if (reply.kind === 'refused') {
    await followRefusal(store, license, reply);
    return { kind: 'refused', refusal: reply };
  }
  const accepted = acceptedBy === undefined ? {} : { acceptedBy };
  const counted = { ...reply.value.counted, askedAt, takesLower: reply.isBound, ...accepted };
  const certified = await withCertificate(certification, reply, tie, tie.certificate);
  await install(store, reply, { tie: certified, counted, key: license.key });
  return { kind: 'checked', counted };
}

/** A certificate names the machine, so it stays behind. */
function moveHere({ certificate: _, ...tie }: License['tie'], hardwareId: string): License['tie'] {
  return { ...tie, hardwareId, movedAt: null };
}

/** Sends a request that also asks for a certificate, and reports a certificate for another key. */
export async function askForCertificate<T>(
  certification: Certification,
  meant: Identification,
  send: (asked: Identification) => Promise<T>,
): Promise<T> {
  const keyStatement = await certification.request(meant.hardwareId);
  try {
    return await send({ ...meant, keyStatement });
  } catch (error) {
    if (error instanceof WrongCertificate) await certification.noteWrong(error);
    throw error;
  }
}

/** `known`: the certificate that the license has here. */
export async function withCertificate(
  certification: Certification,
  { value: { license, certificates }, isBound: isDemanded }: Granted,
  tie: License['tie'],
  known: Certificate | undefined,
): Promise<License['tie']> {
  const expected = { license, hardwareId: tie.hardwareId, known, isDemanded };
  const certificate = await certification.accept(certificates, expected);
  return certificate === null ? tie : { ...tie, certificate };
}

/** The server does not store the password: an administrator has to add the license again. */
const NEEDS_PASSWORD: CloudRefusal = {
  kind: 'refused',
  code: 'server_identity_changed',
  message:
    'The license was activated with a password on another machine. Add it again with its user and password.',
  ...UNPROVEN,
};

/** A genuine answer about another license says nothing about this one. */
async function requireSame(
  { id }: License,
  asked: Promise<CloudReply<Vouched>>,
): Promise<CloudReply<Vouched>> {
  const reply = await asked;
  if (reply.kind === 'refused' || reply.value.license.id === id) return reply;
  const message = `The licensing cloud answered for license ${reply.value.license.id} instead of ${id}.`;
  throw new CloudFault('not_understood', message, { mayHaveArrived: true });
}

async function noteDoubt(store: Store, { id }: License, error: unknown): Promise<never> {
  if (error instanceof OtherLicense) {
    await store.execute({ kind: 'doubt_license', licenseId: id, otherId: error.licenseId, by: 'cloud' });
  }
  throw error;
}

/** By its key, or by its user if it has none; the password is only needed to activate. */
export function identify({ id, product, key, tie }: License, hardwareId: string): Identification {
  const { username } = tie;
  const isByUser = key === '' && username !== null;
  const holder = isByUser ? { username, password: null } : { licenseKey: key };
  const sendsId = tie.assurance?.isBound === true;
  return { hardwareId: tie.hardwareId ?? hardwareId, licenseId: id, sendsId, product, holder };
}

type Granted = Exclude<CloudReply<Vouched>, CloudRefusal>;

interface Installation {
  readonly tie: License['tie'];
  /** Omitted if reports may have been settled since the request. */
  readonly counted?: CloudCounts;
  /** The key in the request; the vendor may omit it in the answer. */
  readonly key: string;
  /** Who adds it; left out if it is here already. */
  readonly by?: Actor;
}

/** The license as the vendor signed it, bound to this server. It clears an unconfirmed verdict. */
export function install(store: Store, reply: Granted, { tie, counted, key, by }: Installation) {
  const { license } = reply.value;
  const assurance = { isBound: reply.isBound, unconfirmed: null, keptTotal: false };
  return store.execute({
    kind: 'install_license',
    license: {
      ...license,
      key: license.key === '' ? key : license.key,
      source: 'cloud',
      tie: { ...tie, assurance },
    },
    ...(counted === undefined ? {} : { counted }),
    ...(by === undefined ? { by: 'cloud' } : { by, replacesSame: true }),
  });
}

/** Refusals of a machine on which the license is not activated yet say nothing about the license. */
const ABOUT_THE_MACHINE: ReadonlySet<Verdict> = new Set(['device_not_found', 'blacklisted']);

async function followRefusal(store: Store, license: License, refusal: CloudRefusal) {
  const { code, isSigned, isBound, isAboutLicense } = refusal;
  if (!isSigned || !isVerdict(code)) return;
  if (license.tie.movedAt !== null && ABOUT_THE_MACHINE.has(code)) return;
  const proof = isAboutLicense ? (isBound ? 'bound' : 'license') : 'none';
  await store.execute({ kind: 'apply_verdict', licenseId: license.id, verdict: code, proof });
}
