import assert from 'node:assert/strict';
import type { Page } from 'playwright-core';
import type { createApi } from './admin-site.ts';

/** A page of somebody who is signed in. */
export interface Opened {
  readonly page: Page;
  go(path: string): Promise<void>;
}

export function row(page: Page, user: string) {
  return page.getByRole('row').filter({ hasText: user });
}

/** What is copied when this name on the page is selected. */
export function copyName(page: Page, name: string): Promise<string> {
  return page.evaluate(
    `(() => {
      const names = [...document.querySelectorAll('.grid-row .name')];
      getSelection().selectAllChildren(names.find(({ textContent }) => textContent === '${name}'));
      const copied = getSelection().toString();
      getSelection().removeAllRanges();
      return copied;
    })()`,
  );
}

/** From the slots to persons with these names, and through the denial of fay until she is forgotten. */
export async function visitPeople(
  { page, go }: Opened,
  api: ReturnType<typeof createApi>,
  token: string,
  hostile: readonly string[],
): Promise<void> {
  const odd = 'x/../y?z#%2F %';
  await api.post('/api/admin/registrations/release', { user: hostile[4] }, token);
  assert.equal((await api.register('demo', odd)).status, 200);
  for (const instance of ['1', '2']) await api.register('demo', odd, 'ws-1', instance);
  for (const user of [odd, hostile[0] as string, hostile[2] as string]) {
    await go('slots');
    await page.getByRole('link', { name: user, exact: true }).click();
    await page.getByRole('heading', { level: 1, name: user, exact: true }).waitFor();
    await page.getByText('Holds one slot.').waitFor();
  }
  await go('slots');
  await row(page, odd).getByRole('img', { name: '3 programs' }).waitFor();
  await page.getByRole('link', { name: odd, exact: true }).click();
  await page.getByText(', 3 programs').waitFor();
  await go('slots?search=FA');
  await page.getByRole('button', { name: 'Find among all people' }).click();
  await page.getByRole('option', { name: /^fay/ }).click();
  await page.getByRole('heading', { level: 1, name: 'fay' }).waitFor();
  const denials = page.getByRole('region', { name: 'Denials' });
  await denials.getByText('Did not ask again.').waitFor();
  await api.post('/api/admin/registrations/release', { user: odd }, token);
  assert.equal((await api.register('demo', 'fay')).status, 200);
  await denials.getByText(/^Got a slot/).waitFor();
  await page.getByRole('button', { name: 'Forget…' }).click();
  await page.getByText(/^Release or recall the slots first/).waitFor();
  await page.getByRole('button', { name: 'Release the slot…' }).click();
  await page.getByRole('button', { name: 'Release slot', exact: true }).click();
  await page.getByText('Holds no slot.').waitFor();
  await page.getByRole('button', { name: 'Forget…' }).click();
  await page.getByRole('button', { name: 'Forget person' }).click();
  await page.getByText('Nothing is recorded').waitFor();
  await go('audit?user=fay&kind=slot_returned');
  await page.getByText('admin released fay’s slot').waitFor();
  await page.getByRole('button', { name: /^Kind/ }).click();
  await page.getByRole('combobox').fill('user for');
  await page.keyboard.press('Enter');
  await page.getByText('Nothing fits').waitFor();
  assert.match(page.url(), /kind=user_forgotten/);
}

/** All rows, a range of them, and those within a filter. */
export async function selectSlots({ page, go }: Opened): Promise<void> {
  const boxes = page.getByRole('rowgroup').getByRole('checkbox');
  await row(page, 'ada').waitFor();
  const all = await boxes.count();
  assert.ok(all >= 3);
  await page.getByRole('checkbox', { name: 'Select all' }).click();
  await page.getByText(`${all} selected`).waitFor();
  await page.getByRole('checkbox', { name: 'Select all' }).click();
  await page.getByText(/ selected/).waitFor({ state: 'detached' });
  await boxes.nth(0).click();
  await boxes.nth(2).click({ modifiers: ['Shift'] });
  await page.getByText('3 selected').waitFor();
  await go('slots?search=ada');
  await page.getByText(`1 of ${all} slots`).waitFor();
  await page.getByText(/ selected/).waitFor({ state: 'detached' });
  await page.keyboard.press('Control+a');
  await page.getByText('1 selected').waitFor();
  await page.keyboard.press('r');
  await page.getByRole('dialog', { name: 'Release 1 slot?' }).waitFor();
  await page.keyboard.press('Escape');
  await page.setViewportSize({ width: 390, height: 844 });
  await row(page, 'ada').locator('.until').waitFor();
}
