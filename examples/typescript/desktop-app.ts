/**
 * What the main process of a desktop application does, as with Electron; the menu is standard input:
 *
 *     node desktop-app.ts http://127.0.0.1:8080 demo
 *
 * It starts with the slot that was borrowed last time, if there is one, and with a slot of the server
 * otherwise. Type `status`, `borrow` or `give back`; Ctrl-D ends it.
 */
import { createInterface } from 'node:readline';
import { BerthError, type Borrow, connect, type Slot } from '@berth/client';

const [server = '', product = ''] = process.argv.slice(2);
const client = connect({ server, product });
const held: { slot?: Slot; borrow?: Borrow } = {};

function show(text: string): void {
  console.log(text);
}

/** The borrow of the last time, if it can be used. */
async function resume(): Promise<boolean> {
  try {
    held.borrow = await client.resume();
    show(`Offline until ${held.borrow.until.toISOString()}.`);
    return true;
  } catch (error) {
    if (!(error instanceof BerthError)) throw error;
    if (error.code !== 'no_borrow') show(`${error.message} ${error.advice}`);
    return false;
  }
}

async function goOnline(): Promise<void> {
  const slot = await client.acquire({ wait: '1m', onWait: ({ error }) => show(`Waiting: ${error.message}`) });
  slot.on('unreachable', ({ heldForMs }) =>
    show(`No server. Save within ${Math.ceil(heldForMs / 60_000)} min.`),
  );
  slot.on('lost', () => show('Read-only: the slot is lost.'));
  slot.on('restored', () => show('Online again.'));
  held.slot = slot;
  show('Online.');
}

const MENU: Readonly<Record<string, () => Promise<void>>> = {
  async status() {
    show(held.borrow?.isValid || held.slot?.isHeld ? 'Licensed.' : 'Not licensed.');
  },
  async borrow() {
    held.borrow = await (held.slot ?? client).borrow({ until: '2d' });
    show(`Borrowed until ${held.borrow.until.toISOString()}.`);
  },
  async 'give back'() {
    await held.borrow?.giveBack();
    delete held.borrow;
    await goOnline();
  },
};

try {
  if (!(await resume())) await goOnline();
  for await (const line of createInterface({ input: process.stdin })) await MENU[line]?.();
} catch (error) {
  if (!(error instanceof BerthError)) throw error;
  show(`${error.message} ${error.advice}`);
  process.exitCode = 75;
}
await held.slot?.release();
