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
import {
  BORROW_FIELDS,
  findWrongField,
  LICENSE_FIELDS,
  PRODUCT_FIELDS,
  REGISTER_FIELDS,
} from './wire-fields.ts';

const whoOf = ({ aim, user }: Subject) => ({ ...aim, user });

const register = (subject: Subject, more: object = {}) => post('register', { ...whoOf(subject), ...more });

const canBorrow: Need = ({ maxBorrowHours }) =>
  maxBorrowHours > 0 ? null : 'the license does not allow borrowing';
const isAlone = needsAlone('it takes all slots');
const isOpen: Need = (_, { hasToken }) => (hasToken ? 'clients authenticate here' : null);

const HOUR_MS = 3_600_000;

/** In an hour, or within what the license allows. */
function inAWhile({ maxBorrowHours }: Subject): Date {
  return new Date(Date.now() + (Math.min(2, maxBorrowHours) * HOUR_MS) / 2);
}

/** The license in `license_json` is the one around it. */
function repeatsItself({ body }: Received): string | null {
  const { license_json: text, ...license } = body;
  try {
    const inner = JSON.parse(text as string) as Record<string, unknown>;
    const differing = Object.keys(inner).find(
      (name) => JSON.stringify(inner[name]) !== JSON.stringify(license[name]),
    );
    return differing === undefined ? null : `"license_json" has another "${differing}"`;
  } catch {
    return '"license_json" holds no JSON';
  }
}

function namesLicense({ body }: Received): string | null {
  if (body.id !== body.license_id) return '"id" and "license_id" differ';
  if (body.floating_in_use !== body.floating_slots_in_use) {
    return '"floating_in_use" and "floating_slots_in_use" differ';
  }
  const { user } = body;
  if (user !== undefined && (typeof user !== 'object' || user === null)) return '"user" is no object';
  const details = body.product_details as object;
  const missing = PRODUCT_FIELDS.find((name) => !(name in details));
  return missing === undefined ? null : `"product_details" lacks "${missing}"`;
}

function listsLicenses({ text }: Received, { product, licenseId }: Subject): string | null {
  const list = readList(text);
  if (list === null) return 'the body is no JSON list';
  const isThere = list.some(({ license_id: id }) => id === licenseId);
  const foreign = list.find((one) => one.product !== product || 'hardware_id' in one);
  if (foreign !== undefined) return 'a license is of another product, or has a hardware id';
  const wrong = list.map((one) => findWrongField(one, LICENSE_FIELDS)).find((said) => said !== null);
  return wrong ?? (isThere ? null : `the license ${licenseId} is not in it`);
}

function readList(text: string): readonly Received['body'][] | null {
  try {
    const value = JSON.parse(text);
    return Array.isArray(value) ? value : null;
  } catch {
    return null;
  }
}

/** How clients write dates, all of them in UTC. */
const DATE_FORMS: Readonly<Record<string, (text: string) => string>> = {
  'as RFC 3339': (text) => text,
  'with a blank and a fraction': (text) => text.replace('T', ' ').replace('Z', ''),
  'with a blank, to the second': (text) => text.replace('T', ' ').slice(0, 19),
  'with a blank, to the minute': (text) => text.replace('T', ' ').slice(0, 16),
};

/** Where clients need no credentials, whatever they send instead is ignored. */
const STALE_CREDENTIALS = {
  'a client without a token': 'Bearer undefined',
  'a client with an empty token': '',
  'a client that signs': 'algorithm="hmac-sha256",headers="date",signature="eA==",apikey="x"',
};

export const LENDING_CHECKS: readonly Check[] = [
  {
    call: 'POST /register',
    what: 'lends a slot and answers the license, with all fields',
    send: (subject) => [register(subject, { os_hostname: 'ws-1', ip_local: '192.0.2.7', user_info: '' })],
    expect: [answersObject, hasFields(REGISTER_FIELDS), hasValue('product', ({ product }) => product)],
  },
  {
    call: 'POST /register',
    what: 'ids, counts and license_json agree',
    send: (subject) => [register(subject)],
    expect: [answersObject, namesLicense, repeatsItself],
  },
  {
    call: 'POST /register',
    what: 'never has the hardware id of the server',
    send: (subject) => [register(subject)],
    expect: [answersObject, lacks('hardware_id')],
  },
  {
    call: 'POST /register',
    what: 'a heartbeat keeps the slot, and takes no other',
    send: (subject) => [register(subject), register(subject), register(subject)],
    expect: [answersObject, keepsCount('floating_in_use')],
  },
  {
    call: 'POST /register',
    what: 'keys in any case, null fields, unknown fields',
    send: ({ aim, user }) => [
      post('register', { ...upper(aim), USER: user, ip_local: null, user_info: null, sdk_ver: 'x', x: [1] }),
    ],
    expect: [answersObject],
  },
  {
    call: 'POST /register',
    what: 'without a user, the host is the user',
    send: ({ aim, user }) => [
      post('register', { ...aim, os_hostname: user }),
      post('unregister', { ...aim, user }),
    ],
    expect: [status(200)],
  },
  {
    call: 'POST /register',
    what: 'with the license id of the answer',
    send: (subject) => [register(subject, { license_id: subject.licenseId })],
    expect: [answersObject, hasValue('license_id', ({ licenseId }) => licenseId)],
  },
  {
    call: 'POST /register',
    what: 'takes a content type with a charset',
    send: (subject) => [
      post('register', whoOf(subject), { 'Content-Type': 'application/json; charset=utf-8' }),
    ],
    expect: [answersObject],
  },
  ...Object.entries(STALE_CREDENTIALS).map(
    ([who, value]): Check => ({
      call: 'POST /register',
      what: `takes ${who}`,
      needs: isOpen,
      send: (subject) => [
        post('register', whoOf(subject), { Authorization: value, Date: new Date().toUTCString() }),
      ],
      expect: [answersObject],
    }),
  ),
  {
    call: 'POST /register',
    what: 'refuses a product that is not there',
    send: ({ user }) => [post('register', { product: `no-${user}`, user })],
    expect: [refuses(400, 'unknown_product')],
  },
  {
    call: 'POST /register',
    what: 'refuses what is no JSON',
    send: () => [post('register', '{"product": ')],
    expect: [refuses(400, 'invalid_json')],
  },
  {
    call: 'POST /register',
    what: 'when all slots are in use, refuses with 400',
    needs: (subject, options) =>
      subject.slots > 200 ? 'the license has more than 200 slots' : isAlone(subject, options),
    send: (subject) => [
      ...Array.from({ length: subject.slots }, (_, index) =>
        post('register', { ...subject.aim, user: `${subject.user}-${index}` }),
      ),
      register(subject),
    ],
    expect: [refuses(400, 'floating_not_available')],
  },
  {
    call: 'POST /floating/register',
    what: 'is register by another name',
    send: (subject) => [
      post('floating/register', whoOf(subject)),
      post('floating/unregister', whoOf(subject)),
    ],
    expect: [status(200), saysText('user_unregistered')],
  },
  {
    call: 'POST /unregister',
    what: 'frees the slot, with a bare text',
    send: (subject) => [register(subject), post('unregister', whoOf(subject))],
    expect: [status(200), saysText('user_unregistered')],
  },
  {
    call: 'POST /unregister',
    what: 'refuses who has no slot',
    send: (subject) => [post('unregister', whoOf(subject))],
    expect: [refuses(400, 'device_not_found')],
  },
  {
    call: 'GET /license',
    what: 'answers the license of a product',
    send: ({ product }) => [get(`/api/v4/license?product=${encodeURIComponent(product)}`)],
    expect: [
      answersObject,
      hasFields(LICENSE_FIELDS),
      hasValue('product', ({ product }) => product),
      lacks('hardware_id'),
    ],
  },
  {
    call: 'GET /licenses',
    isOptional: true,
    what: 'lists the licenses of a product',
    send: ({ product }) => [get(`/api/v4/licenses?product=${encodeURIComponent(product)}`)],
    expect: [status(200), listsLicenses],
  },
  ...borrowChecks(),
];

function borrowChecks(): readonly Check[] {
  const needs = canBorrow;
  const lasts = ({ body }: Received) => findWrongField(body, BORROW_FIELDS);
  const until = (subject: Subject, text: unknown, key = 'borrowed_until') =>
    post('borrow', { ...whoOf(subject), [key]: text });
  const endsThen =
    (dateOf: (subject: Subject) => number) =>
    ({ body }: Received, subject: Subject) =>
      Math.abs(Date.parse(body.borrowed_until as string) - dateOf(subject)) < 61_000
        ? null
        : `"borrowed_until" is ${JSON.stringify(body.borrowed_until)}`;
  const wanted = (subject: Subject) => inAWhile(subject).getTime();
  return [
    {
      call: 'POST /borrow',
      what: 'registers and borrows in one step',
      needs,
      send: (subject) => [until(subject, inAWhile(subject).toISOString())],
      expect: [answersObject, lasts],
    },
    ...Object.entries(DATE_FORMS).map(
      ([form, write]): Check => ({
        call: 'POST /borrow',
        what: `reads a date ${form}`,
        needs,
        send: (subject) => [until(subject, write(inAWhile(subject).toISOString()))],
        expect: [answersObject, lasts, endsThen(wanted)],
      }),
    ),
    {
      call: 'POST /borrow',
      what: 'takes borrow_until, too',
      needs,
      send: (subject) => [until(subject, inAWhile(subject).toISOString(), 'borrow_until')],
      expect: [answersObject, lasts, endsThen(wanted)],
    },
    ...[null, '', '0001-01-01T00:00:00Z'].map(
      (text): Check => ({
        call: 'POST /borrow',
        what: `with ${JSON.stringify(text)}, lasts as long as possible`,
        needs,
        send: (subject) => [until(subject, text)],
        expect: [answersObject, lasts],
      }),
    ),
    {
      call: 'POST /borrow',
      what: 'refuses a date in the past',
      needs,
      send: (subject) => [until(subject, '2020-01-01T00:00:00Z')],
      expect: [refuses(400, 'borrow_until_not_valid')],
    },
    {
      call: 'POST /unregister',
      what: 'gives a borrow back early',
      needs,
      send: (subject) => [
        until(subject, inAWhile(subject).toISOString()),
        post('unregister', whoOf(subject)),
        post('unregister', whoOf(subject)),
      ],
      expect: [refuses(400, 'device_not_found')],
    },
  ];
}

function upper(aim: Subject['aim']): object {
  return Object.fromEntries(Object.entries(aim).map(([key, value]) => [key.toUpperCase(), value]));
}
