import { chooseTheme, type Theme, theme } from '../../data/theme.ts';
import { useValue } from '../../data/value.ts';
import { Segments } from '../../parts/filters.tsx';
import { hasKeys, switchKeys } from '../../parts/keys.ts';
import { Setting, SettingList } from './setting-list.tsx';

const THEMES: readonly (readonly [Theme, string])[] = [
  ['system', 'System'],
  ['light', 'Light'],
  ['dark', 'Dark'],
];

/** How this browser shows the page. */
export function PageSettings() {
  const chosen = useValue(theme);
  const isOn = useValue(hasKeys);
  return (
    <SettingList>
      <Setting name="Theme" note="kept in this browser">
        <Segments label="Theme" value={chosen} choices={THEMES} onChange={chooseTheme} />
      </Setting>
      <Setting name="Keys" note="press ? for a list">
        <label class="check">
          <input
            type="checkbox"
            checked={isOn}
            onChange={(event) => switchKeys(event.currentTarget.checked)}
          />
          Single letters act, unless something is typed
        </label>
      </Setting>
    </SettingList>
  );
}
