import assert from 'node:assert/strict';
import { TOPIC_NAMES } from '../../packages/server/src/core/nouns/topics.ts';
import type { openWebhookReceiver } from '../support/webhook-receiver.ts';
import type { createApi } from './admin-site.ts';
import { type Opened, row } from './people-and-slots.ts';

/** From the backup's schedule to a test of the webhook; then as it was. */
export async function changeSettings(
  { page, go }: Opened,
  api: ReturnType<typeof createApi>,
  token: string,
  receiver: Awaited<ReturnType<typeof openWebhookReceiver>>,
): Promise<void> {
  const save = () => page.getByRole('button', { name: 'Save' }).click();
  await page.getByLabel('How many to keep').fill('0');
  await save();
  await page.getByText('"backup.keep" cannot be "0".').waitFor();
  await page.getByLabel('How many to keep').fill('30');
  await page.getByRole('button', { name: 'Repeat: Never' }).click();
  await page.getByRole('menuitemradio', { name: 'Every day at' }).click();
  const unsaved = page.getByText('2 changes are not saved: backup.keep, backup.schedule.');
  await unsaved.waitFor();
  await go('settings/users');
  await go('slots');
  await go('settings/backup');
  await unsaved.waitFor();
  assert.equal(await page.getByLabel('How many to keep').inputValue(), '30');
  await save();
  await page.getByText('The master key is in no backup.').waitFor();
  await go('settings/notifications');
  await page.getByLabel('Address').fill(receiver.url);
  await save();
  await page.getByText('Saved. Nothing is sent yet: the secret is missing.').waitFor();
  await page.getByText('Secret missing', { exact: true }).waitFor();
  await page.getByRole('button', { name: 'Make a new secret' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Close' }).click();
  await page.getByRole('button', { name: 'Send a test event' }).click();
  await page.getByText(/^Delivered: 200 after \d+ ms$/).waitFor();
  await page.getByText('1 delivered, 0 dropped').waitFor();
  assert.deepEqual(receiver.kinds, ['webhook_test']);
  await tryChannel(page, receiver);
  for (const [word, found] of [
    ['passphrase', 'Backup'],
    ['token', 'Tokens'],
  ] as const) {
    await page.keyboard.press('Control+k');
    await page.getByRole('combobox').fill(word);
    await page.getByRole('option', { name: found }).waitFor();
    await page.keyboard.press('Enter');
    await page.locator('.settings-nav [aria-current]').getByText(found).waitFor();
  }
  await go('settings/page');
  await page.getByLabel('Name').fill('Yard 7');
  await save();
  await page.getByLabel('Sidebar').getByText('Yard 7').waitFor();
  assert.equal(await page.title(), 'Settings – Yard 7');
  const changes = { 'page.name': null, 'backup.keep': null, 'backup.schedule': null, 'webhooks.url': null };
  await api.post('/api/admin/settings', { changes }, token);
}

/** Adds a channel, tests it while it works and while it does not, and removes it. */
async function tryChannel(page: Opened['page'], receiver: Awaited<ReturnType<typeof openWebhookReceiver>>) {
  await page.getByRole('button', { name: 'Add a channel' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Name').fill('desk');
  await dialog.getByRole('button', { name: /^Kind/ }).click();
  await page.getByRole('menuitemradio', { name: 'Slack' }).click();
  await dialog.getByLabel('Address').fill(receiver.url);
  await dialog.getByLabel('A slot is refused').uncheck();
  const digest = dialog.getByRole('button', { name: /^Digest/ });
  // A menu closes when the dialog scrolls.
  await digest.scrollIntoViewIfNeeded();
  await digest.click();
  await page.getByRole('menuitemradio', { name: 'Every day' }).click();
  await dialog.getByRole('button', { name: 'Add channel' }).click();
  const row = page.getByRole('row', { name: /desk/ });
  const topics = TOPIC_NAMES.length;
  await row.getByText(`${topics - 1} of ${topics} topics; at most every 10 min; daily digest`).waitFor();
  await row.getByRole('button', { name: 'Test' }).click();
  await page.getByText(/^desk: delivered, 200 after \d+ ms\.$/).waitFor();
  await row.getByText('Delivered').waitFor();
  receiver.react({ status: 410 });
  await row.getByRole('button', { name: 'Test' }).click();
  await row.getByText(/since .*: it takes no messages any more \(410\)$/).waitFor();
  await page.getByRole('button', { name: 'Actions for desk' }).click();
  await page.getByRole('menuitem', { name: 'Remove…' }).click();
  await page.getByRole('button', { name: 'Remove channel' }).click();
  await page.getByText('No one gets messages').waitFor();
}

/** Cuts the connection of a page that shows the slots, and restores it. */
export async function loseConnection(
  { page, go }: Opened,
  t: { after(work: () => unknown): void },
): Promise<void> {
  await page.getByText('Live', { exact: true }).first().waitFor();
  const colorOf = (selector: string) =>
    page.evaluate(`getComputedStyle(document.querySelector('${selector}')).color`);
  const [usual, quiet] = [await colorOf('.grid-row .first'), await colorOf('.grid-head')];
  assert.notEqual(usual, quiet);
  const cut = /\/api\//;
  await page.route(cut, (route) => route.abort());
  t.after(() => page.unroute(cut));
  // The stream still stands; a request finds out.
  await page.getByRole('button', { name: 'Export CSV' }).click();
  await page
    .getByRole('alert')
    .getByText(/^Connection lost since \d\d:\d\d:\d\d\.$/)
    .waitFor();
  await page
    .getByLabel('Sidebar')
    .getByText(/^Connection lost since/)
    .waitFor();
  assert.equal(await page.getByText('Live', { exact: true }).count(), 0);
  assert.equal(await colorOf('.grid-row .first'), quiet);
  await row(page, 'ada').click();
  await page.keyboard.press('r');
  await page.getByRole('button', { name: 'Release slot' }).click();
  const dialog = page.getByRole('dialog');
  await dialog
    .getByText(/^The connection to the server has been lost since .* Nothing was changed/)
    .waitFor();
  await dialog.getByRole('button', { name: 'Cancel' }).click();
  await page.getByRole('button', { name: /^Account admin/ }).click();
  await page.getByRole('menuitem', { name: 'Sign out' }).click();
  await page.getByText(/^You are still signed in\./).waitFor();
  await page.keyboard.press('Control+k');
  await page.getByRole('combobox').fill('nobody-like-that');
  await page.getByText('Users cannot be found now: the server does not answer.').waitFor();
  await page.keyboard.press('Escape');
  await go('overview');
  await page.getByRole('heading', { level: 1, name: 'Connection lost' }).waitFor();
  const tryNow = page.getByRole('button', { name: 'Try now' });
  await tryNow.click();
  await page.unroute(cut);
  // The page also tries by itself, and on a busy machine may be faster than this click.
  await tryNow.click({ timeout: 5000 }).catch(() => {});
  await page.getByText('Live', { exact: true }).first().waitFor();
  await page.getByRole('heading', { level: 1, name: 'Connection lost' }).waitFor({ state: 'detached' });
}
