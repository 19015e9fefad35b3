import assert from 'node:assert/strict';
import type { Opened } from './people-and-slots.ts';

/** Words of the controls that only administrators have. */
export const ADMINISTRATORS_ONLY =
  /\b(?:add|remove|bar|create|revoke|set|forget|back up|check now|more actions)\b/i;
export const NOT_FOR_VIEWERS = new RegExp(`${ADMINISTRATORS_ONLY.source}|\\b(?:release|recall)\\b`, 'i');
export const NOT_FOR_SOME_PRODUCTS = new RegExp(`${ADMINISTRATORS_ONLY.source}|\\b(?:verify|export)$`, 'i');

/** Looks for controls with these words at places, and in the menu of ada's slot, which offers others. */
export async function expectNoControl(
  { page, go }: Opened,
  places: readonly string[],
  forbidden: RegExp,
  offered: RegExp,
): Promise<void> {
  const refused: string[] = [];
  page.on('response', (response) => {
    if (response.status() === 403) refused.push(response.url());
  });
  for (const path of places) {
    await go(path);
    const main = page.getByRole('main');
    const names = await main.getByRole('button').allInnerTexts();
    const links = await main.getByRole('link').allInnerTexts();
    const found = [...names, ...links].filter((name) => forbidden.test(name));
    assert.deepEqual(found, [], path);
  }
  await go('slots');
  await page.getByRole('button', { name: 'Actions for ada' }).click();
  const menu = await page.getByRole('menu').innerText();
  assert.doesNotMatch(menu, forbidden);
  assert.match(menu, offered);
  assert.deepEqual(refused, []);
}

/** Says which products an operator is limited to, and leaves out what concerns the whole server. */
export async function expectLimited({ page, go }: Opened, products: string): Promise<void> {
  await page.keyboard.press('Escape');
  await page.getByText(`Limited to ${products}`, { exact: true }).waitFor();
  const screens = await page
    .getByRole('navigation', { name: 'Screens' })
    .first()
    .getByRole('link')
    .allInnerTexts();
  assert.deepEqual(
    screens.map((name) => name.split('\n')[0]),
    ['Overview', 'Slots', 'Licenses', 'Reports', 'Audit', 'Settings'],
  );
  await go('settings');
  const parts = await page.getByRole('navigation', { name: 'Settings' }).getByRole('link').allInnerTexts();
  assert.deepEqual(parts, ['Your password', 'This page']);
}
