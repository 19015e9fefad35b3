import { type SystemChange, unchanged } from '../decision.ts';
import { nameOf } from '../nouns/actor.ts';
import { SEALED_SETTINGS } from '../nouns/stored-setting.ts';
import type { ChangeSettings, SettingChange } from '../system-command.ts';
import { ON_SERVER, type SystemFacts, type SystemModule } from '../system-module.ts';

function toRecord(changes: readonly SettingChange[]) {
  return Object.fromEntries(changes.map(({ name, shown }) => [name, shown]));
}

function listChanges({ name, value }: SettingChange, by: string): readonly SystemChange[] {
  if (value === null) return [{ kind: 'remove_setting', name }];
  if (!SEALED_SETTINGS.includes(name)) return [{ kind: 'put_setting', name, value, by }];
  return [
    { kind: 'put_secret', name: `setting:${name}`, secret: JSON.stringify(value) },
    { kind: 'put_setting', name, value: null, by },
  ];
}

/** Values that are stored already change nothing. */
export const changeSettings = {
  ...ON_SERVER,
  scope: 'secrets',
  needs: () => ({ settings: true }),

  decide({ changes, by }, { settings }: Pick<SystemFacts, 'settings'>) {
    const stored = new Map(settings.map(({ name, value }) => [name, value]));
    const isNew = ({ name, value }: SettingChange) =>
      JSON.stringify(stored.get(name) ?? null) !== JSON.stringify(value);
    const made = changes.filter(isNew);
    if (made.length === 0) return unchanged();
    return {
      outcome: { kind: 'done', count: made.length },
      changes: made.flatMap((change) => listChanges(change, nameOf(by))),
      events: [{ kind: 'settings_changed', settings: toRecord(made), by }],
    };
  },
} satisfies SystemModule<ChangeSettings>;
