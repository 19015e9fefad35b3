import type { GetAnswer } from '@berth/protocol/admin/admin-api';
import { formatTable } from '@berth/shell/console/console-text';
import { type Config, readSetting, showSetting } from '../../config.ts';
import { SETTINGS } from '../../settings.ts';
import type { AdminAnswer } from '../admin-client.ts';
import { type Command, defineCommand, type LocalContext } from '../command.ts';

/** Which settings are in force. */
export const SHOW_CONFIG_COMMANDS: readonly Command[] = [
  defineCommand({
    words: 'config',
    about: 'show the settings of the server and where each comes from',
    local: findSettings,
    show: showSettings,
  }),
];

type Setting = Pick<
  GetAnswer<'/api/admin/settings'>['settings'][number],
  'name' | 'value' | 'source' | 'place' | 'changed_by' | 'changed_at'
>;

interface ShownConfig {
  /** Whether these are the settings of a running server, which has read the file at its start. */
  readonly running: boolean;
  readonly settings: readonly Setting[];
  /** What the file says now, where a running server has another value that does not count before it. */
  readonly differs: readonly Pick<Setting, 'name' | 'value' | 'source'>[];
  /** Why neither the server nor its data could be asked. */
  readonly not_asked: string | null;
}

/** What the server says, running or stopped; without one, what it would be started with. */
async function findSettings(context: LocalContext): Promise<AdminAnswer<ShownConfig>> {
  const own = listOwn(context.config);
  try {
    const client = await context.open();
    try {
      const answer = await client.get('/api/admin/settings');
      if (!answer.ok) return answer;
      const { settings } = answer.body;
      const differs = client.isRunning ? listDifferent(settings, own) : [];
      return { ok: true, body: { running: client.isRunning, settings, differs, not_asked: null } };
    } finally {
      await client.close();
    }
  } catch (error) {
    const not_asked = await context.explain(error);
    return { ok: true, body: { running: false, settings: own, differs: [], not_asked } };
  }
}

function listOwn(config: Config): readonly Setting[] {
  return SETTINGS.map((setting) => {
    const { kind: source, place } = config.sources.get(setting.path) ?? { kind: 'default', place: null };
    const value = showSetting(setting, readSetting(config, setting.path));
    return { name: setting.path, value, source, place, changed_by: null, changed_at: null };
  }) as readonly Setting[];
}

/** Only if both have read the same file: another one is none of the server's business. */
function listDifferent(running: readonly Setting[], own: readonly Setting[]): ShownConfig['differs'] {
  const fileOf = (settings: readonly Setting[]) => settings.find(({ source }) => source === 'file')?.place;
  const [read, present] = [fileOf(running), fileOf(own)];
  if (read !== undefined && present !== undefined && read !== present) return [];
  const differing = own.filter(({ name, source, value }) => {
    const used = running.find((setting) => setting.name === name);
    if (used === undefined || used.source === 'flag' || used.source === 'environment') return false;
    if (source !== 'file' && (source !== 'default' || used.source !== 'file')) return false;
    return JSON.stringify(used.value) !== JSON.stringify(value);
  });
  return differing.map(({ name, value, source }) => ({ name, value, source }));
}

function showSettings({ running, settings, differs, not_asked }: ShownConfig): string {
  const rows = settings.map((setting) => [setting.name, sayOrigin(setting), sayValue(setting.value)]);
  const stopped = not_asked === null ? 'No server runs. It would be started with:' : 'A new start would use:';
  const whose = running ? 'The running server uses:' : stopped;
  return [
    whose,
    formatTable(['setting', 'from', 'value'], rows),
    ...differs.map(sayDifference),
    ...(differs.length === 0 ? [] : ['Restart the server to use what the file says.']),
    ...(not_asked === null ? [] : [`Settings in the store are not shown: ${not_asked}`]),
  ].join('\n');
}

function sayDifference({ name, value, source }: ShownConfig['differs'][number]): string {
  if (source === 'file') return `DIFFERS: the file now says ${name}: ${sayValue(value)}.`;
  return `DIFFERS: the file now has no ${name}, which is then ${sayValue(value)}.`;
}

function sayValue(value: Setting['value']): string {
  return Array.isArray(value) ? value.join(', ') : String(value);
}

function sayOrigin({ source, place, changed_by, changed_at }: Setting): string {
  if (source === 'stored') return `the store, set by ${changed_by} at ${changed_at}`;
  return place ?? source;
}
