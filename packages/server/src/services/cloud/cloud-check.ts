import {
  CloudFault,
  type CloudHost,
  type CloudRefusal,
  type CloudReply,
  type Identification,
  UNPROVEN,
  type Vouched,
} from '../../cloud/cloud.ts';
import type { CloudCounts } from '../../core/command.ts';
import type { Actor } from '../../core/nouns/actor.ts';
import { isVerdict, type License, type Verdict } from '../../core/nouns/license.ts';
import type { Store } from '../../store/store.ts';
import type { Identity } from '../upkeep/identity.ts';
import type { CloudSession } from './cloud-session.ts';

/** What asking the cloud about a license came to. */
type CheckResult =
  | { readonly kind: 'checked'; readonly counted: CloudCounts }
  | { readonly kind: 'refused'; readonly refusal: CloudRefusal };

export interface CheckParts {
  readonly store: Store;
  readonly session: CloudSession;
  readonly identity: Identity;
  readonly host: CloudHost;
}

/**
 * Asks the cloud about a license and lets the store follow. Only a signed license, and a signed refusal that
 * is about the license, change anything; everything else is a matter of the link. A license that came with
 * its data from another machine is activated on this one. `acceptedBy`: who takes totals that are lower than
 * before, although nothing shows that they are not old.
 */
export async function checkLicense(
  parts: CheckParts,
  license: License,
  acceptedBy?: Actor,
): Promise<CheckResult> {
  const { store, session, identity, host } = parts;
  const { now: askedAt } = await store.keepClock();
  const hardwareId = await identity.readHardwareId();
  const mustMove = license.tie.movedAt !== null;
  if (mustMove && license.tie.username !== null) return { kind: 'refused', refusal: NEEDS_PASSWORD };
  const tie = mustMove ? { ...license.tie, hardwareId, movedAt: null } : license.tie;
  const meant = identify({ ...license, tie }, hardwareId);
  const reply = await session.ask(license.id, (cloud, keys) =>
    requireSame(license, mustMove ? cloud.activate(keys, meant, host) : cloud.check(keys, meant)),
  );
  if (reply.kind === 'refused') {
    await followRefusal(store, license, reply);
    return { kind: 'refused', refusal: reply };
  }
  const accepted = acceptedBy === undefined ? {} : { acceptedBy };
  const counted = { ...reply.value.counted, askedAt, takesLower: reply.isBound, ...accepted };
  await install(store, reply, { tie, counted, key: license.key });
  return { kind: 'checked', counted };
}

/** Nobody here knows the password: a person has to add the license again. */
const NEEDS_PASSWORD: CloudRefusal = {
  kind: 'refused',
  code: 'server_identity_changed',
  message: 'It was activated with a password on another machine. Add it again, with its user and password.',
  ...UNPROVEN,
};

/** What the vendor says about another license, however genuine, is no word about this one. */
async function requireSame(
  { id }: License,
  asked: Promise<CloudReply<Vouched>>,
): Promise<CloudReply<Vouched>> {
  const reply = await asked;
  if (reply.kind === 'refused' || reply.value.license.id === id) return reply;
  const message = `The licensing cloud answered about the license ${reply.value.license.id}, not ${id}.`;
  throw new CloudFault('not_understood', message, { mayHaveArrived: true });
}

/** By its key, or, where it has none, by its user; a password is needed for the activation only. */
export function identify({ id, product, key, tie }: License, hardwareId: string): Identification {
  const { username } = tie;
  const isByUser = key === '' && username !== null;
  const holder = isByUser ? { username, password: null } : { licenseKey: key };
  return { hardwareId: tie.hardwareId ?? hardwareId, licenseId: id, product, holder };
}

type Granted = Exclude<CloudReply<Vouched>, CloudRefusal>;

interface Installation {
  readonly tie: License['tie'];
  /** Left out where reports may have been settled since the cloud was asked. */
  readonly counted?: CloudCounts;
  /** By which it was asked for; a vendor need not repeat it. */
  readonly key: string;
  readonly by?: Actor;
}

/** The license as the vendor vouches for it, tied to this server. Whatever verdict waited is over. */
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
    by: by ?? 'cloud',
  });
}

/** What is said about a machine that the license is not on yet is no word about the license. */
const ABOUT_THE_MACHINE: ReadonlySet<Verdict> = new Set(['device_not_found', 'blacklisted']);

async function followRefusal(store: Store, license: License, refusal: CloudRefusal) {
  const { code, isSigned, isBound, isAboutLicense } = refusal;
  if (!isSigned || !isVerdict(code)) return;
  if (license.tie.movedAt !== null && ABOUT_THE_MACHINE.has(code)) return;
  const proof = isAboutLicense ? (isBound ? 'bound' : 'license') : 'none';
  await store.execute({ kind: 'apply_verdict', licenseId: license.id, verdict: code, proof });
}
