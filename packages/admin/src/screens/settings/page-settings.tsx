import { useResource } from '../../data/resource.ts';
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

/** For everybody: they are settings of the server. */
function BrandSettings() {
  const page = useResource('/api/admin/settings').data?.settings.page;
  return (
    <>
      <Setting name="Name" note="page.name in berth.yaml; for everybody, after a restart">
        {page?.name ? <bdi>{page.name}</bdi> : <span class="quiet">Berth</span>}
      </Setting>
      <Setting name="Logo" note="page.logo in berth.yaml: an SVG, PNG or JPEG file of at most 100 kB">
        {page?.logo ? <code>{page.logo}</code> : <span class="quiet">that of Berth</span>}
      </Setting>
    </>
  );
}

/** How the page looks. */
export function PageSettings() {
  const chosen = useValue(theme);
  const isOn = useValue(hasKeys);
  return (
    <SettingList>
      <BrandSettings />
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
