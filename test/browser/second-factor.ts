import assert from 'node:assert/strict';
import type { Page } from 'playwright-core';
import { codeAt, stepAt } from '../../packages/server/src/services/access/one-time-code.ts';
import { findBarriers, signOut } from './admin-site.ts';

/** Turns it on, signs in with a code and with a recovery code, and turns it off. */
export async function useSecondFactor(page: Page, name: string, password: string): Promise<void> {
  await page.getByRole('button', { name: 'Turn on…' }).click();
  const secret = await page.getByText(/^[A-Z2-7]{32}$/).innerText();
  assert.match(
    (await page.getByRole('link', { name: 'Open it in an app' }).getAttribute('href')) ?? '',
    /^otpauth:\/\/totp\//,
  );
  assert.deepEqual(await findBarriers(page), []);
  await page.getByLabel('Code that the app shows').fill(codeAt(secret, stepAt(Date.now())));
  await page.getByLabel('Your password').fill(password);
  await page.getByRole('button', { name: 'Set up' }).click();
  const codes = (await page.getByRole('group', { name: 'Recovery codes' }).innerText()).trim().split('\n');
  assert.equal(codes.length, 10);
  await page.keyboard.press('Escape');
  await page.getByRole('button', { name: 'I have saved them' }).click();
  await page.getByText('10 of 10 recovery codes are left').waitFor();
  const signInWith = async (...tries: readonly string[]) => {
    await signOut(page);
    await page.getByLabel('Name').fill(name);
    await page.getByLabel('Password', { exact: true }).fill(password);
    await page.keyboard.press('Enter');
    for (const code of tries) {
      await page.getByLabel('Code').fill(code);
      await page.keyboard.press('Enter');
      if (code !== tries.at(-1)) await page.getByText(/^The code is wrong or was used before/).waitFor();
    }
    await page.getByRole('navigation', { name: 'Screens' }).first().waitFor();
  };
  // A code counts once, and the next one counts already.
  await signInWith('not one', codeAt(secret, stepAt(Date.now()) + 1));
  await signInWith(codes[0] ?? '');
  await page.getByText('9 of 10 recovery codes are left').waitFor();
  await page.getByRole('button', { name: 'Turn off…' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Your password').fill(password);
  await dialog.getByLabel('Code').fill(codes[1] ?? '');
  await dialog.getByRole('button', { name: 'Turn off' }).click();
  await page.getByRole('button', { name: 'Turn on…' }).waitFor();
}
