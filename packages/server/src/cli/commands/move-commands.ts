import { formatFacts } from '@berth/shell/console/console-text';
import type { CallOf } from '@berth/shell/console/hints';
import { type Command, defineCommand } from '../command.ts';

/** Moving the data between SQLite and PostgreSQL. */
export const MOVE_COMMANDS: readonly Command[] = [
  defineCommand({
    words: 'migrate-store to-postgres',
    about: 'move the data from the folder to the database; all servers must be stopped',
    local: async ({ moveStore }) => answer(await moveStore('to-postgres')),
    show: (moved, callOf) => showMoved(moved, nextOnPostgres(callOf)),
  }),
  defineCommand({
    words: 'migrate-store to-sqlite',
    about: 'move the data from the database to the folder; all servers must be stopped',
    local: async ({ moveStore }) => answer(await moveStore('to-sqlite')),
    show: (moved) => showMoved(moved, NEXT_ON_SQLITE),
  }),
];

interface Moved {
  readonly from: string;
  readonly to: string;
  readonly rows: Readonly<Record<string, number>>;
  readonly audit: Readonly<Record<string, number>>;
  readonly hardware_id_before: string | null;
}

const answer = (moved: object) => ({ ok: true, body: moved as Moved }) as const;

function nextOnPostgres(callOf: CallOf): string {
  return (
    'Start the server with the same data folder and BERTH_DATABASE_URL. Its master key stays where it is; ' +
    `other servers on the database need the same key ("${callOf('key export')}", and there ` +
    '"berth key import").'
  );
}

const NEXT_ON_SQLITE = 'Start the server with this data folder, without BERTH_DATABASE_URL.';

function showMoved({ from, to, rows, audit, hardware_id_before }: Moved, next: string): string {
  const { chains, links, events, thinned } = audit;
  const facts = {
    ...rows,
    'audit log': `intact: ${chains} chains, ${links} links, ${events} events; ${thinned} thinned`,
  };
  const moved = `Everything was moved and verified.\n${formatFacts({ from, to })}\n\n${formatFacts(facts)}`;
  const hardware =
    hardware_id_before === null
      ? ''
      : '\nOn this machine the server has a different hardware id. Licenses are bound to the old one: ' +
        `start the server with BERTH_HARDWARE_ID=${hardware_id_before} to keep it.`;
  return `${moved}\n\n${next}${hardware}\n${from} can no longer be used.`;
}
