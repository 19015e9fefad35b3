import { withFacts } from '../admin-client.ts';
import { type Command, defineCommand } from '../command.ts';

/** Changes settings while the server runs, and sees to its webhook. */
export const CONFIG_COMMANDS: readonly Command[] = [
  defineCommand({
    words: 'config set',
    arguments: ['NAME', 'VALUE'],
    about:
      'change a setting that the server applies at once; berth.yaml, environment and flags count before it',
    ask: async (client, [name = '', value = '']) =>
      withFacts(await client.post('/api/admin/settings', { changes: { [name]: value } }), { name }),
    show: showSetting,
  }),
  defineCommand({
    words: 'config unset',
    arguments: ['NAME'],
    about: 'return a setting that was changed with "config set" or on the page to its default',
    ask: async (client, [name = '']) =>
      withFacts(await client.post('/api/admin/settings', { changes: { [name]: null } }), { name }),
    show: showDefault,
  }),
  defineCommand({
    words: 'webhook test',
    about: 'send a test event to the webhook, and show what became of it',
    ask: (client) => client.post('/api/admin/webhooks/test'),
    show: ({ status, duration_ms, error }) => error ?? `Delivered: status ${status} after ${duration_ms} ms.`,
    isFailure: ({ delivered }) => !delivered,
  }),
  defineCommand({
    words: 'webhook secret',
    about: 'make a new secret that signs events for the webhook, and show it once',
    ask: (client) => client.post('/api/admin/webhooks/secret'),
    show: ({ secret }) => `${secret}\nGive it to the receiver: it is not shown again.`,
  }),
];

interface Changed {
  readonly name: string;
  readonly settings: readonly { readonly name: string; readonly value: unknown }[];
}

function showSetting(changed: Changed): string {
  return `${changed.name} is ${JSON.stringify(findValue(changed))} now.`;
}

function showDefault(changed: Changed): string {
  const value = findValue(changed);
  const said = value === '' ? 'empty' : JSON.stringify(value);
  return `The default of ${changed.name} applies again: ${said}.`;
}

function findValue({ name, settings }: Changed): unknown {
  return settings.find((one) => one.name === name)?.value;
}
