import { createECDH, createPublicKey, verify } from 'node:crypto';
import {
  answersObject,
  type Check,
  get,
  hasFields,
  hasValue,
  keepsCount,
  lacks,
  type Need,
  needsAlone,
  post,
  refuses,
  type Subject,
  saysText,
  status,
} from './check.ts';
import type { Received } from './exchange.ts';
import { CONSUMPTION_FIELDS, FEATURE_FIELDS } from './wire-fields.ts';

/** Made up: what a vendor's portal would give, and the key that the server is to use. */
const INITIALIZATION_CODE = 'nmSYO3EaxHPkGZ4J3xKmVd2pW0a1tVE6uGfbmxD8EHc=';
const LICENSE_KEY = 'AAAA-BBBB-CCCC-DDDD';

const isConsumption: Need = ({ isConsumption: is }) => (is ? null : 'the license counts no consumption');
const hasCounted: Need = ({ countedFeature }) =>
  countedFeature === null ? 'the license has no feature that is counted' : null;
const hasFloating: Need = ({ floatingFeature }) =>
  floatingFeature === null ? 'the license has no feature with slots' : null;
const hasAccount: Need = ({ basic }) => (basic === null ? 'needs --user and --password' : null);

const isNoPong = ({ isObject, body }: Received) =>
  isObject && body.message !== 'pong' ? null : 'the body must be a JSON object, and no "pong"';

/** The portal checks the same before it answers with a confirmation code. */
function isActivationCode({ body }: Received): string | null {
  const { activation_code: code, hardware_id: id } = body;
  if (typeof code !== 'string') return '"activation_code" is no text';
  if (typeof id !== 'string' || id === '') return '"hardware_id" is no text';
  const facts = Buffer.from(`${id}${LICENSE_KEY}`);
  const isRight = verify('sha1', facts, initializationKey(), Buffer.from(code, 'base64'));
  return isRight ? null : '"activation_code" was not made for this hardware id and license key';
}

function initializationKey() {
  const pair = createECDH('prime256v1');
  pair.setPrivateKey(INITIALIZATION_CODE, 'base64');
  const point = pair.getPublicKey();
  const [x, y] = [point.toString('base64url', 1, 33), point.toString('base64url', 33)];
  const key = createPublicKey({ format: 'jwk', key: { kty: 'EC', crv: 'P-256', x, y } });
  return { key, dsaEncoding: 'ieee-p1363' } as const;
}

const basicOf = (text: string) => ({ Authorization: `Basic ${Buffer.from(text).toString('base64')}` });

const SERVER_CHECKS: readonly Check[] = [
  { call: 'GET /', what: 'says that the server is there', send: () => [get('/')], expect: [status(200)] },
  {
    call: 'GET /health',
    what: 'says that it works',
    send: () => [get('/api/v4/health')],
    expect: [status(200)],
  },
  {
    call: 'GET /api/v5/ping',
    what: '404 with a JSON object, so that clients stay with v4',
    send: () => [get('/api/v5/ping')],
    expect: [refuses(404), isNoPong],
  },
  {
    call: 'any other path',
    what: 'is an error in JSON',
    send: () => [get('/api/v4/no-such-call')],
    expect: [refuses(404, 'not_found')],
  },
  {
    call: 'GET /auth',
    what: 'refuses a wrong password with 401, in JSON',
    send: ({ user }) => [get('/auth', basicOf(`${user}:wrong`))],
    expect: [refuses(401)],
  },
  {
    call: 'GET /auth',
    what: 'gives a token for the right one',
    needs: hasAccount,
    send: ({ basic }) => [get('/auth', basicOf(basic ?? ''))],
    expect: [
      answersObject,
      hasValue('message', () => 'Login successful'),
      ({ body }) => (typeof body.token === 'string' && body.token !== '' ? null : '"token" is no token'),
    ],
  },
  {
    call: 'GET /setPassword',
    isAdministrative: true,
    what: 'refuses who sends no password',
    send: () => [get('/api/v4/setPassword')],
    expect: [refuses(400, 'missing_parameters')],
  },
];

const count = ({ aim, user }: Subject, consumptions: unknown, more: object = {}) =>
  post('add_consumption', { ...aim, user, consumptions, ...more });

const CONSUMPTION_CHECKS: readonly Check[] = [
  {
    call: 'POST /add_consumption',
    what: 'counts, and answers the total',
    needs: isConsumption,
    send: (subject) => [count(subject, '1'), count(subject, '2')],
    expect: [answersObject, hasFields(CONSUMPTION_FIELDS), keepsCount('total_consumptions', 2)],
  },
  {
    call: 'POST /add_consumption',
    what: 'numbers and flags as they are, or as text',
    needs: isConsumption,
    send: (subject) => [
      count(subject, 1, { allow_overages: false, max_overages: 0 }),
      count(subject, '1', { allowOverages: 'FALSE', max_overages: '0' }),
    ],
    expect: [answersObject, keepsCount('total_consumptions', 1)],
  },
  {
    call: 'POST /add_consumption',
    what: 'needs no registered user',
    needs: isConsumption,
    send: ({ aim }) => [post('add_consumption', { ...aim, consumptions: '1', user: 'nobody-registered' })],
    expect: [answersObject],
  },
  {
    call: 'POST /add_consumption',
    what: 'refuses a license that is not counted',
    needs: (subject) => (subject.isConsumption ? 'the license counts consumption' : null),
    send: (subject) => [count(subject, '1')],
    expect: [refuses(400, 'license_not_consumption')],
  },
];

const onFeature = ({ aim, user }: Subject, feature: string | null) => ({ ...aim, user, feature });
const takeSlot = ({ aim, user }: Subject) => post('register', { ...aim, user });

const FEATURE_CHECKS: readonly Check[] = [
  {
    call: 'POST /add_feature_consumption',
    what: 'counts, and answers the feature',
    needs: hasCounted,
    send: (subject) =>
      [1, '1'].map((consumptions) =>
        post('add_feature_consumption', { ...onFeature(subject, subject.countedFeature), consumptions }),
      ),
    expect: [answersObject, hasFields(FEATURE_FIELDS), keepsCount('total_consumptions', 1)],
  },
  {
    call: 'POST /add_feature_consumption',
    what: 'refuses a feature that is not there',
    send: (subject) => [
      post('add_feature_consumption', { ...onFeature(subject, 'no-such-feature'), consumptions: '1' }),
    ],
    expect: [refuses(400, 'invalid_license_feature_code')],
  },
  ...['featureRegister', 'check_license_feature'].map(
    (path): Check => ({
      call: `POST /${path}`,
      what: 'lends a slot of a feature',
      needs: hasFloating,
      send: (subject) => [takeSlot(subject), post(path, onFeature(subject, subject.floatingFeature))],
      expect: [answersObject, hasFields(FEATURE_FIELDS), hasValue('is_floating', () => true)],
    }),
  ),
  ...['featureRelease', 'feature_release'].map(
    (path): Check => ({
      call: `POST /${path}`,
      what: 'frees it, with a bare text',
      needs: hasFloating,
      send: (subject) => [
        takeSlot(subject),
        post('featureRegister', onFeature(subject, subject.floatingFeature)),
        post(path, onFeature(subject, subject.floatingFeature)),
      ],
      expect: [status(200), saysText('feature_released')],
    }),
  ),
  {
    call: 'POST /featureRelease',
    what: 'refuses who does not have it',
    needs: hasFloating,
    send: (subject) => [
      takeSlot(subject),
      post('featureRelease', onFeature(subject, subject.floatingFeature)),
    ],
    expect: [refuses(400, 'floating_feature_device_not_in_use')],
  },
];

/** No license is added or changed by these. */
const OFFLINE_CHECKS: readonly Check[] = [
  {
    call: 'POST /license/generate',
    isAdministrative: true,
    what: 'takes an empty object',
    send: () => [post('license/generate', {})],
    expect: [status(200), lacks('code')],
  },
  {
    call: 'POST /airgap/generate',
    isAdministrative: true,
    what: 'signs an activation code',
    needs: needsAlone('it opens a request'),
    send: () => [post('airgap/generate', { license_key: LICENSE_KEY, signing_key: INITIALIZATION_CODE })],
    expect: [answersObject, isActivationCode],
  },
  {
    call: 'POST /airgap/generate',
    isAdministrative: true,
    what: 'refuses what is no initialization code',
    send: () => [post('airgap/generate', { license_key: LICENSE_KEY, signing_key: 'eA==' })],
    expect: [refuses(400)],
  },
  {
    call: 'POST /airgap/license',
    isAdministrative: true,
    what: 'refuses made-up codes with 4xx, in JSON',
    send: () => [
      post('airgap/license', {
        license_policy: 'eA==',
        license_key: LICENSE_KEY,
        policy_id: '1',
        confirmation_code: 'eA==',
      }),
    ],
    expect: [refuses(400)],
  },
  {
    call: 'POST /license/upload',
    isAdministrative: true,
    what: 'refuses what is no license with 4xx, in JSON',
    send: () => [post('license/upload', 'no license', { 'Content-Type': 'text/plain' })],
    expect: [refuses(400)],
  },
];

export const OTHER_CHECKS: readonly Check[] = [
  ...SERVER_CHECKS,
  ...CONSUMPTION_CHECKS,
  ...FEATURE_CHECKS,
  ...OFFLINE_CHECKS,
];
