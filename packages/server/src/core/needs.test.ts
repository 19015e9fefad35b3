import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ERROR_CODES } from '@berth/protocol/errors';
import type { LicenseCommand } from './command.ts';
import { decide, moduleOf } from './decide.ts';
import {
  borrow,
  consume,
  denying,
  exampleFeature,
  exampleFeatureSlot,
  exampleLicense,
  exampleSlot,
  exampleView,
  from,
  LICENSE_ID,
  NOW,
  recall,
  register,
  registerFeature,
  release,
  releaseFeature,
  unregister,
  type ViewFacts,
} from './examples.ts';
import { stepAt } from './history/thinning.ts';
import { HOUR_MS, plus } from './nouns/instant.ts';
import type { License } from './nouns/license.ts';
import type { Denial, LicenseView, PlaceDenial, ViewNeeds } from './view.ts';

const HERE = from('192.0.2.7');
const LIMITED = { ...HERE, perAddress: { slots: 1, borrows: 1 } };
const SOON = plus(NOW, HOUR_MS);
const LATE = plus(NOW, 1000 * HOUR_MS);
const ON = { licenseId: LICENSE_ID, by: 'admin' };
const REPORT = { licenseId: LICENSE_ID, feature: null, reportId: 'r' };

/** At least one command of every kind; the more ways to refuse it there are, the more of them. */
const COMMANDS: { [K in LicenseCommand['kind']]: readonly Extract<LicenseCommand, { kind: K }>[] } = {
  register: [register('ada'), register('ada', HERE), register('ada', LIMITED)],
  borrow: [SOON, LATE, 'longest', 'unreadable', NOW].flatMap((until) => [
    borrow('ada', until as typeof NOW),
    borrow('ada', until as typeof NOW, LIMITED),
  ]),
  unregister: [unregister('ada', HERE), unregister('ada', { credential: 'token' })],
  add_consumption: [1, 11, -1, 0].flatMap((count) =>
    [null, 'export', 'render', 'nothing'].map((feature) => consume(count, { ...HERE, feature, user: 'ada' })),
  ),
  register_feature: [null, SOON, LATE].flatMap((until) =>
    ['render', 'export', 'nothing'].map((feature) => registerFeature('ada', { ...HERE, until, feature })),
  ),
  release_feature: [releaseFeature('ada'), releaseFeature('ada', { feature: 'nothing' })],
  release: [release('ada')],
  recall: [recall('ada')],
  release_from: [{ kind: 'release_from', ...ON, users: ['ada', 'bob'], address: '192.0.2.0/24' }],
  release_all: [{ kind: 'release_all', ...ON }],
  release_all_features: [{ kind: 'release_all_features', ...ON }],
  collect: [{ kind: 'collect', licenseId: LICENSE_ID }],
  thin_history: [{ kind: 'thin_history', licenseId: LICENSE_ID, step: stepAt('minutes', NOW) }],
  install_license: [{ kind: 'install_license', license: exampleLicense({ slots: 3 }), by: 'admin' }],
  remove_license: [{ kind: 'remove_license', ...ON }],
  apply_verdict: [
    { kind: 'apply_verdict', licenseId: LICENSE_ID, verdict: 'license_expired', proof: 'bound' },
  ],
  certify_license: [
    {
      kind: 'certify_license',
      ...ON,
      certificate: { texts: ['jws'], kid: 'k', issuedAt: NOW, expiresAt: LATE },
    },
  ],
  cut_report: [{ kind: 'cut_report', ...REPORT }],
  settle_report: [
    {
      kind: 'settle_report',
      ...REPORT,
      isCounted: true,
      cloudTotal: 9,
      isSure: true,
      takesLower: true,
      by: 'x',
    },
  ],
  resolve_report: [{ kind: 'resolve_report', ...REPORT, cloudTotal: 9, takesLower: true }],
};

const FEATURES = [
  exampleFeature('export'),
  exampleFeature('render', {
    floating: { slots: 2, timeoutMinutes: 5, canBorrow: true, maxBorrowHours: 4 },
  }),
];

const LICENSES: readonly Partial<License>[] = [
  {},
  { type: 'consumption' },
  { enabled: false },
  { active: false },
  { startsAt: SOON },
  { validUntil: NOW },
  {
    maxOfflineDays: 1,
    source: 'cloud',
    tie: { ...exampleLicense().tie, checkedAt: plus(NOW, -48 * HOUR_MS) },
  },
  { canBorrow: false },
  { slots: 0 },
  { slots: 5 },
  { features: FEATURES.map((feature) => ({ ...feature, expiresAt: NOW })) },
];

const OWN = exampleSlot('ada', { credential: 'other' });
const OTHERS = [exampleSlot('bob'), exampleSlot('eve')];

const USES: readonly ViewFacts[] = [
  {},
  { slots: OTHERS },
  { slots: [OWN] },
  { slots: [OWN, ...OTHERS] },
  { slots: [{ ...OWN, endsAt: SOON, borrowedUntil: SOON }, ...OTHERS] },
  { slots: [{ ...OWN, endsAt: NOW }, ...OTHERS] },
  { slots: [OWN, ...OTHERS], featureSlots: [exampleFeatureSlot('bob'), exampleFeatureSlot('eve')] },
  { slots: [OWN], featureSlots: [exampleFeatureSlot('ada', { borrowedUntil: LATE, endsAt: LATE })] },
];

const RULES: readonly ViewFacts[] = [
  {},
  { rules: denying({ users: ['ada'] }) },
  { rules: denying({ addresses: ['192.0.2.0/24'] }) },
];

/** Every denial that can follow would be folded into one of these. */
const DENIALS: readonly Denial[] = ERROR_CODES.flatMap((code) =>
  ['', 'export', 'render', 'nothing'].map((feature) => {
    return { user: 'ada', feature, code, deniedAt: NOW, repeated: 3 };
  }),
);
const PLACES: readonly PlaceDenial[] = ERROR_CODES.map((code) => {
  return { place: '192.0.2.7', code, deniedAt: NOW, recorded: 3, repeated: 3 };
});

/** All that a store knows. */
const EVERYTHING: ViewFacts = {
  placeDenials: PLACES,
  staleDenials: DENIALS.slice(0, 2),
  stalePlaceDenials: PLACES.slice(0, 2),
  staleAnswers: 2,
  crowd: { slots: 1, borrows: 1 },
  reports: [{ id: 'r', feature: '', amount: 2, cutAt: NOW, uncertainAt: null }],
  holders: [{ registration: exampleSlot('bob', { origin: '192.0.2.8' }), featureSlots: [] }],
};

/** The view as a store loads it: with the facts that the command has asked for, and no others. */
function narrow(view: LicenseView, needs: ViewNeeds): LicenseView {
  const { denials, stale } = needs;
  return {
    ...view,
    nextEndsAt: needs.nextEnd ? view.nextEndsAt : null,
    endedBorrow: needs.endedBorrow ? view.endedBorrow : null,
    crowd: needs.crowd ? view.crowd : null,
    holders: needs.holders ? view.holders : [],
    featureSlots: needs.featureSlots ? view.featureSlots : [],
    featureNextEndsAt: needs.featureSlotsEnd ? view.featureNextEndsAt : null,
    featureSlotCount: needs.featureSlotCount ? view.featureSlotCount : 0,
    reports: needs.reports ? view.reports : [],
    denials: view.denials.filter(({ user }) => user === denials?.user),
    placeDenials: view.placeDenials.filter(({ place }) => place === denials?.place),
    staleDenials: stale === undefined ? [] : view.staleDenials,
    stalePlaceDenials: stale === undefined ? [] : view.stalePlaceDenials,
    staleAnswers: stale === undefined ? 0 : view.staleAnswers,
  };
}

describe('what a command asks for is all that its decision depends on', () => {
  for (const [kind, commands] of Object.entries(COMMANDS)) {
    test(kind, () => {
      for (const command of commands) {
        for (const grant of LICENSES) {
          for (const use of USES) for (const rules of RULES) check(command, grant, { ...use, ...rules });
        }
      }
    });
  }
});

function check(command: LicenseCommand, grant: Partial<License>, use: ViewFacts): void {
  const license = exampleLicense({ features: FEATURES, ...grant });
  const feature = 'feature' in command ? (command.feature ?? '') : '';
  const module = moduleOf(command);
  const facts = { ...EVERYTHING, license, meter: { feature, total: 9 }, ...use };
  const view = { ...exampleView(facts, module.holder(command)), denials: DENIALS };
  const needs = module.needs(command, view, view.registration, NOW);
  const context = JSON.stringify({ command, grant, use });
  assert.deepEqual(decide(command, narrow(view, needs), NOW), decide(command, view, NOW), context);
}
