import { chooseTheme, type Theme, theme } from '../../data/theme.ts';
import { useValue } from '../../data/value.ts';
import { Term, TermList } from '../../parts/facts.tsx';
import { Segments } from '../../parts/filters.tsx';
import { KeySwitch } from '../../parts/keys.tsx';
import { FixedValue, LiveTerm, SaveBar, useDraft } from './draft.tsx';

const THEMES: readonly (readonly [Theme, string])[] = [
  ['system', 'System'],
  ['light', 'Light'],
  ['dark', 'Dark'],
];

/** How the page looks: for everybody, and in this browser. */
export function PageSettings() {
  const chosen = useValue(theme);
  const draft = useDraft();
  const logo = draft.of('page.logo');
  return (
    <>
      <TermList>
        <LiveTerm draft={draft} name="page.name" label="Name" placeholder="Berth" note="for everybody" />
        <Term name="Logo" note="page.logo in berth.yaml: an SVG, PNG or JPEG file of at most 100 kB">
          {logo?.value ? <FixedValue setting={logo} /> : <span class="quiet">that of Berth</span>}
        </Term>
        <Term name="Theme" note="kept in this browser">
          <Segments label="Theme" value={chosen} choices={THEMES} onChange={chooseTheme} />
        </Term>
        <Term name="Keys" note="press ? for a list">
          <KeySwitch />
        </Term>
      </TermList>
      <SaveBar draft={draft} />
    </>
  );
}
