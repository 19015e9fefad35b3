import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Finding } from '@berth/protocol/admin/doctor';
import type { License } from '@berth/protocol/admin/licenses';
import { listConcerns } from '../../src/words/attention.ts';

const NOW = Date.UTC(2026, 10, 16, 12);
const inDays = (days: number) => new Date(NOW + days * 86_400_000).toISOString();

function license(id: number, facts: Partial<License> = {}): License {
  return {
    ...{ id, product: `p${id}`, product_details: { product_name: `Product ${id}` }, state: 'active' },
    ...{ source: 'cloud', floating_users: 10, floating_in_use: 0, borrowed: 0, ends_at: null },
    ...{ allow_unlimited_consumptions: true, max_consumptions: 0, product_features: [] },
    ...facts,
  } as unknown as License;
}

function finding(check: Finding['check'], severity: Finding['severity'], text: string): Finding {
  return { check, severity, text, advice: 'Do something.' };
}

describe('what needs attention', () => {
  test('comes in the order of what hurts: who is refused now, then what comes first', () => {
    const licenses = [
      license(1, { ends_at: inDays(20) }),
      license(2, { ends_at: inDays(3) }),
      license(3, { floating_in_use: 10 }),
      license(4, { floating_in_use: 10 }),
      license(5, { floating_in_use: 9 }),
    ];
    const found = listConcerns(
      licenses,
      [finding('backup', 'problem', 'It failed.')],
      NOW,
      new Map([[4, 7]]),
    );
    assert.deepEqual(
      found.map(({ name, word }) => name ?? word),
      ['Product 4', 'Product 3', 'Backup failed', 'Product 5', 'Product 2', 'Product 1'],
    );
  });

  test('tells a backup that is missing from an old one', () => {
    const wordOf = (text: string) => listConcerns([], [finding('backup', 'warning', text)], NOW)[0]?.word;
    assert.equal(wordOf('No backup was made yet.'), 'No backup');
    assert.equal(wordOf('The last backup is 9 days old.'), 'Old backup');
  });

  test('always has a link to where it is solved', () => {
    const linkOf = (facts: Partial<License>) => listConcerns([license(7, facts)], [], NOW)[0]?.link.path;
    assert.equal(linkOf({ floating_in_use: 10 }), 'slots');
    assert.equal(linkOf({ state: 'expired' }), 'licenses/7');
    assert.equal(linkOf({ state: 'overdue' }), 'settings/cloud');
    const checks = ['backup', 'cloud', 'webhooks', 'disk', 'clock', 'exposure', 'server'] as const;
    const paths = checks.map(
      (check) => listConcerns([], [finding(check, 'warning', 'Hm')], NOW)[0]?.link.path,
    );
    assert.deepEqual(paths.slice(0, 4), [
      ...['backup', 'cloud', 'notifications', 'server'].map((part) => `settings/${part}`),
    ]);
    assert.ok(paths.every((path) => path?.startsWith('settings/')));
    const password = finding('exposure', 'warning', 'An administrator still has the one-time password: so.');
    assert.equal(listConcerns([], [password], NOW)[0]?.link.path, 'settings/password');
  });

  test('names licenses as people do', () => {
    const text = 'The vendor no longer certifies the key of this server for license 7. License 8 is unknown.';
    const [concern] = listConcerns([license(7)], [finding('grants', 'problem', text)], NOW);
    assert.match(concern?.sentence ?? '', /for license “Product 7”\. License 8 is unknown\. Do something\.$/);
    assert.equal(concern?.link.path, 'licenses/7');
  });
});
