import { useSettings } from '../../data/settings.ts';
import { chooseTheme, type Theme, theme } from '../../data/theme.ts';
import { useValue } from '../../data/value.ts';
import { Term, TermList } from '../../parts/facts.tsx';
import { Segments } from '../../parts/filters.tsx';
import { KeySwitch } from '../../parts/keys.tsx';

const THEMES: readonly (readonly [Theme, string])[] = [
  ['system', 'System'],
  ['light', 'Light'],
  ['dark', 'Dark'],
];

/** For everybody: they are settings of the server. */
function BrandSettings() {
  const { of } = useSettings();
  const [name, logo] = [of('page.name')?.value, of('page.logo')?.value];
  return (
    <>
      <Term name="Name" note="page.name in berth.yaml; for everybody, after a restart">
        {name ? <bdi>{name}</bdi> : <span class="quiet">Berth</span>}
      </Term>
      <Term name="Logo" note="page.logo in berth.yaml: an SVG, PNG or JPEG file of at most 100 kB">
        {logo ? <code>{logo}</code> : <span class="quiet">that of Berth</span>}
      </Term>
    </>
  );
}

/** How the page looks. */
export function PageSettings() {
  const chosen = useValue(theme);
  return (
    <TermList>
      <BrandSettings />
      <Term name="Theme" note="kept in this browser">
        <Segments label="Theme" value={chosen} choices={THEMES} onChange={chooseTheme} />
      </Term>
      <Term name="Keys" note="press ? for a list">
        <KeySwitch />
      </Term>
    </TermList>
  );
}
