import { type Command, defineCommand } from '../command.ts';
import { showClock } from './status-commands.ts';

/** On a server with a test clock. */
export const TEST_CLOCK_COMMANDS: readonly Command[] = [
  defineCommand({
    words: 'clock advance',
    arguments: ['TIME'],
    about: 'let time pass on a server that was started with --test-clock, such as 90m or 30d',
    ask: (client, [by]) => client.post('/api/admin/test-clock/advance', { by }),
    show: showClock,
  }),
  defineCommand({
    words: 'license make',
    arguments: ['PRODUCT'],
    usage: '[--slots N] [--timeout-minutes N] [--max-borrow-hours N]',
    about: 'make up a license of "test-…", or change it, on a server that was started with --test-clock',
    ask: (client, [product], flags) =>
      client.post('/api/admin/test-clock/license', {
        product,
        slots: flags.slots,
        timeout_minutes: flags['timeout-minutes'],
        max_borrow_hours: flags['max-borrow-hours'],
      }),
    show: ({ license_id }) => `License ${license_id} is there, for tests only.`,
  }),
];
