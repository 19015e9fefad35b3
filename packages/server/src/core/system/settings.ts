import { unchanged } from '../decision.ts';
import { nameOf } from '../nouns/actor.ts';
import type { ChangeSettings, SettingChange } from '../system-command.ts';
import { ON_SERVER, type SystemFacts, type SystemModule } from '../system-module.ts';

/** Values that are stored already change nothing. */
export const changeSettings = {
  ...ON_SERVER,
  needs: () => ({ settings: true }),

  decide({ changes, by }, { settings }: Pick<SystemFacts, 'settings'>) {
    const stored = new Map(settings.map(({ name, value }) => [name, value]));
    const isNew = ({ name, value }: SettingChange) =>
      JSON.stringify(stored.get(name) ?? null) !== JSON.stringify(value);
    const made = changes.filter(isNew);
    if (made.length === 0) return unchanged();
    return {
      outcome: { kind: 'done', count: made.length },
      changes: made.map(({ name, value }) =>
        value === null
          ? ({ kind: 'remove_setting', name } as const)
          : ({ kind: 'put_setting', name, value, by: nameOf(by) } as const),
      ),
      events: made.map(({ name, shown }) => ({ kind: 'setting_changed', name, value: shown, by }) as const),
    };
  },
} satisfies SystemModule<ChangeSettings>;
