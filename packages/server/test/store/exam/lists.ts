import assert from 'node:assert/strict';
import { inspect } from 'node:util';
import { parseRange } from '@berth/protocol/address-range';
import { HOUR_MS, MINUTE_MS, plus } from '../../../src/core/nouns/instant.ts';
import { licenseId } from '../../../src/core/nouns/license.ts';
import type { ListRegistrations } from '../../../src/store/query.ts';
import { exampleFeature, from, NOW, registerFeature } from '../../core/examples.ts';
import { codeOf, type ExamStore, grantedOf } from './exam-store.ts';

const [CAD, CAM, GONE] = [licenseId(1), licenseId(2), licenseId(3)];
const SLOTS = [
  { user: 'ada', product: 'cad', hostname: 'ws-2', address: '10.0.0.3' },
  { user: 'bob', product: 'cad', hostname: 'WS-1', address: '10.0.0.1' },
  { user: 'cy', product: 'cad', hostname: 'nb-1', address: '10.1.0.2' },
  { user: 'ada', product: 'cam', hostname: 'nb-9', address: '10.1.0.9' },
];

/** Four live slots: bob's is borrowed, ada has two features, cy had one. Others have ended or are gone. */
async function fill(exam: ExamStore): Promise<void> {
  const features = [exampleFeature('render'), { ...exampleFeature('render'), code: 'mesh' }];
  await exam.install({ id: CAD, product: 'cad', slots: 9, features });
  await exam.install({ id: CAM, product: 'cam', slots: 9 });
  await exam.install({ id: GONE, product: 'gone', slots: 9 });
  grantedOf(await exam.register('ended', { product: 'cad' }));
  grantedOf(await exam.register('cy', { product: 'cad' }));
  assert.equal(codeOf(await exam.execute(registerFeature('cy', { product: 'cad' }))), 'measured');
  exam.clock.advance(10 * MINUTE_MS - 1);
  grantedOf(await exam.register('ada', { product: 'gone' }));
  for (const { user, product, hostname, address } of SLOTS) {
    const host = { hostname, address: `desk of ${user}`, info: null };
    const facts = { product, host, ...from(address) };
    grantedOf(await exam.register(user, facts));
    if (user === 'bob') grantedOf(await exam.borrow(user, plus(NOW, HOUR_MS), facts));
    exam.clock.advance(1);
  }
  for (const feature of ['render', 'mesh']) {
    assert.equal(codeOf(await exam.execute(registerFeature('ada', { product: 'cad', feature }))), 'measured');
  }
  await exam.execute({ kind: 'remove_license', licenseId: GONE, by: 'admin' });
}

/** How many match, and the users and the numbers of their licenses. */
async function list(exam: ExamStore, query: Partial<ListRegistrations>): Promise<string> {
  const all = { licenseId: null, product: null, user: null, limit: 99, after: null };
  const page = await exam.store.read({ kind: 'list_registrations', ...all, ...query });
  const slots = page.registrations.map(({ registration, licenseId: on }) => `${registration.user}${on}`);
  return `${page.matched ?? 'after'}: ${slots.join(' ')}`;
}

const range = (text: string) => parseRange(text) ?? undefined;
const search = (text: string) => ({ search: { text, origin: parseRange(text) } });

const LISTED: readonly [Partial<ListRegistrations>, string][] = [
  [{}, '4: ada1 bob1 cy1 ada2'],
  [{ licenseId: CAD }, '3: ada1 bob1 cy1'],
  [{ product: 'cam' }, '1: ada2'],
  [{ among: [CAM, GONE] }, '1: ada2'],
  [{ among: [CAD], user: 'ada', limit: 1 }, '1: ada1'],
  [{ among: [licenseId(12)] }, '0: '],
  [{ among: [] }, '0: '],
  [{ user: 'ada' }, '2: ada1 ada2'],
  [{ user: 'ended' }, '0: '],
  [{ origin: range('10.0.0.0/16') }, '2: ada1 bob1'],
  [{ isBorrowed: true }, '1: bob1'],
  [{ isBorrowed: false }, '3: ada1 cy1 ada2'],
  [{ feature: 'mesh' }, '1: ada1'],
  [{ feature: 'render' }, '1: ada1'],
  [{ limit: 2 }, '4: ada1 bob1'],
  [{ limit: 2, offset: 1 }, '4: bob1 cy1'],
  [{ after: { licenseId: CAD, user: 'bob' } }, 'after: cy1 ada2'],
  [{ after: { licenseId: CAD, user: 'cy' }, user: 'ada' }, 'after: ada2'],
  [search('DA'), '2: ada1 ada2'],
  [search('ws-'), '2: ada1 bob1'],
  [search('desk of b'), '1: bob1'],
  [search('10.1.0.0/16'), '2: cy1 ada2'],
  [{ order: 'user' }, '4: ada1 ada2 bob1 cy1'],
  [{ order: 'user', isDescending: true }, '4: cy1 bob1 ada1 ada2'],
  [{ order: 'host' }, '4: cy1 ada2 bob1 ada1'],
  [{ order: 'address' }, '4: bob1 ada1 cy1 ada2'],
  [{ order: 'license', isDescending: true }, '4: ada2 ada1 bob1 cy1'],
  [{ order: 'state' }, '4: bob1 ada1 cy1 ada2'],
  [{ order: 'since' }, '4: ada1 bob1 cy1 ada2'],
  [{ order: 'until', isDescending: true }, '4: bob1 ada2 cy1 ada1'],
];

export const LISTS = {
  'slots are filtered, searched, sorted and listed in parts': async (exam: ExamStore) => {
    await fill(exam);
    for (const [query, expected] of LISTED) {
      assert.equal(await list(exam, query), expected, inspect(query));
    }
  },

  'slots are listed with the features that are held': async (exam: ExamStore) => {
    await fill(exam);
    const all = { licenseId: null, product: null, user: null, limit: 99, after: null };
    const { registrations } = await exam.store.read({ kind: 'list_registrations', ...all });
    assert.deepEqual(
      registrations.map(({ product, features }) => [product, ...features]),
      [['cad', 'mesh', 'render'], ['cad'], ['cad'], ['cam']],
    );
  },
};
