import type { Welcome } from '@berth/protocol/admin/session';
import { useEffect, useState } from 'preact/hooks';
import type { ApiError } from './data/api.ts';
import { goTo, linkTo, usePlace } from './data/route.ts';
import { hadSession, loadSession, loadWelcome, may, session, welcome } from './data/session.ts';
import { useValue } from './data/value.ts';
import { Brand } from './parts/brand.tsx';
import { Button, ButtonLink } from './parts/button.tsx';
import { Dialog, Questions } from './parts/dialog.tsx';
import { Facts } from './parts/facts.tsx';
import { Finder, openFinder } from './parts/finder.tsx';
import { Frame, leave, listAllowed, type Screen } from './parts/frame.tsx';
import { KEY_LIST, Keycaps, KeySwitch, useGoKeys, useKeys } from './parts/keys.tsx';
import { Empty, ErrorBox, Loading } from './parts/states.tsx';
import { Toasts, undoLast } from './parts/toasts.tsx';
import { AddLicense } from './screens/add/add-license.tsx';
import { Audit } from './screens/audit/audit.tsx';
import { LicenseScreen } from './screens/licenses/license.tsx';
import { Licenses } from './screens/licenses/licenses.tsx';
import { Overview } from './screens/overview/overview.tsx';
import { Person } from './screens/person/person.tsx';
import { Reports } from './screens/reports/reports.tsx';
import { RULE_SECTIONS, Rules } from './screens/rules/rules.tsx';
import { SETTING_SECTIONS, Settings } from './screens/settings/settings.tsx';
import { Slots } from './screens/slots/slots.tsx';
import { Confirming } from './screens/welcome/confirming.tsx';
import { FirstRun } from './screens/welcome/first-run.tsx';
import { MustSetPassword, MustSetSecondFactor, SignIn } from './screens/welcome/sign-in.tsx';

export function App() {
  const greeting = useValue(welcome);
  const [error, setError] = useState<ApiError | null>(null);
  const who = useValue(session);
  const load = () => {
    setError(null);
    Promise.all([loadWelcome(), session.get() === undefined ? loadSession() : null]).catch(setError);
  };
  // Setting the first password ends the first run.
  useEffect(load, [who?.name, who === null]);
  if (error !== null) {
    return (
      <div class="lonely">
        <ErrorBox title="The server does not answer." error={error} onRetry={load} />
      </div>
    );
  }
  if (greeting === null || who === undefined) return <Opening />;
  return (
    <>
      <Signed welcome={greeting} onPassword={load} />
      <Toasts />
    </>
  );
}

/** Nothing about the server is known yet. */
const UNKNOWN: Welcome = {
  name: '',
  has_logo: false,
  version: '',
  is_set_up: true,
  is_secure: true,
  provider: null,
  takes_accounts: true,
};

/** What surrounds the screen that is about to open. */
function Opening() {
  const nothing = () => {};
  if (hadSession())
    return (
      <Frame welcome={UNKNOWN} screens={SCREENS} onFind={nothing} onKeys={nothing}>
        <Loading rows={8} hasHead />
      </Frame>
    );
  return (
    <div class="welcome">
      <main class="welcome-main">
        <div class="brand">
          <Brand welcome={UNKNOWN} />
        </div>
        <div class="welcome-form slim">
          <Loading rows={4} hasHead />
        </div>
      </main>
      <div class="welcome-side" />
    </div>
  );
}

function Signed({ welcome, onPassword }: { readonly welcome: Welcome; readonly onPassword: () => void }) {
  const who = useValue(session);
  const { path } = usePlace();
  if (who?.must_set_second_factor === true && welcome.is_set_up)
    return <MustSetSecondFactor welcome={welcome} />;
  const isFirst = !welcome.is_set_up || (path[0] === 'welcome' && who != null);
  if (isFirst) return <FirstRun welcome={welcome} onPassword={onPassword} />;
  if (who == null)
    return <SignIn welcome={welcome} screen={SCREENS.find((one) => one.path === path[0])?.label} />;
  if (who.must_set_password) return <MustSetPassword welcome={welcome} />;
  if (!may('GET /api/admin/licenses')) return <NotForUsers />;
  return <Desk welcome={welcome} />;
}

function NotForUsers() {
  return (
    <div class="lonely">
      <Empty title="This account cannot look after the server">
        <p>It has the role “user”, which is for applications. Ask an administrator for the role “viewer”.</p>
        <Button onClick={leave}>Sign out</Button>
      </Empty>
    </div>
  );
}

/** The screens in the order of the sidebar. */
const SCREENS: readonly Screen[] = [
  { path: 'overview', label: 'Overview', icon: 'overview', key: 'O', isTab: true, draw: () => <Overview /> },
  { path: 'slots', label: 'Slots', icon: 'slots', key: 'S', isTab: true, draw: () => <Slots /> },
  { path: 'licenses', label: 'Licenses', icon: 'licenses', key: 'L', isTab: true, draw: drawLicenses },
  {
    path: 'rules',
    label: 'Rules',
    icon: 'rules',
    key: 'U',
    isTab: false,
    draw: () => <Rules />,
    sections: RULE_SECTIONS,
    needs: 'GET /api/admin/rules',
  },
  { path: 'reports', label: 'Reports', icon: 'reports', key: 'R', isTab: true, draw: () => <Reports /> },
  { path: 'audit', label: 'Audit', icon: 'audit', key: 'A', isTab: false, draw: () => <Audit /> },
  {
    path: 'settings',
    label: 'Settings',
    icon: 'settings',
    key: null,
    isTab: false,
    draw: () => <Settings />,
    sections: SETTING_SECTIONS,
  },
];

const GO_KEYS = SCREENS.flatMap(({ path, label, key }) => (key === null ? [] : [{ path, label, key }]));

const WAYS = Object.fromEntries(
  GO_KEYS.map(({ path, key }) => [key.toLowerCase(), () => goTo(linkTo(path))] as const),
);

/** Those that this account may see. */
function listScreens(): readonly Screen[] {
  return listAllowed(SCREENS).map(({ sections = [], ...screen }) => ({
    ...screen,
    sections: listAllowed(sections),
  }));
}

function drawLicenses(part: string | undefined) {
  if (part === undefined) return <Licenses />;
  return part === 'add' ? <AddLicense /> : <LicenseScreen />;
}

function Desk({ welcome }: { readonly welcome: Welcome }) {
  const [showsKeys, setShowsKeys] = useState(false);
  useEffect(() => {
    const listen = (event: KeyboardEvent) => {
      if (!(event.ctrlKey || event.metaKey) || event.key.toLowerCase() !== 'k') return;
      event.preventDefault();
      openFinder();
    };
    addEventListener('keydown', listen);
    return () => removeEventListener('keydown', listen);
  }, []);
  const screens = listScreens();
  useGoKeys(WAYS);
  useKeys({
    z: undoLast,
    '?': () => setShowsKeys(true),
    '/': () => document.querySelector<HTMLElement>('[data-search]')?.focus(),
  });
  return (
    <>
      <Frame
        welcome={welcome}
        screens={screens}
        onFind={() => openFinder()}
        onKeys={() => setShowsKeys(true)}
      >
        <CurrentScreen />
      </Frame>
      <Questions />
      <Confirming provider={welcome.provider} />
      <Finder screens={screens} />
      {showsKeys && <KeyList onClose={() => setShowsKeys(false)} />}
    </>
  );
}

function CurrentScreen() {
  const { path } = usePlace();
  useEffect(() => scrollTo(0, 0), [path.join('/')]);
  const [name = 'overview', part] = path;
  if (name === 'people' && part !== undefined) return <Person key={part} user={part} />;
  const screen = listScreens().find((one) => one.path === name);
  if (screen !== undefined) return screen.draw(part);
  return (
    <Empty title="There is nothing here">
      <p>The address may be old or mistyped.</p>
      <ButtonLink to="overview">Go to the Overview</ButtonLink>
    </Empty>
  );
}

function KeyList({ onClose }: { readonly onClose: () => void }) {
  const screens = GO_KEYS.map(({ label, key }) => [`G ${key}`, `Go to ${label}`] as const);
  const list = [...KEY_LIST, ...screens, ['?', 'Show this list'], ['Esc', 'Close']] as const;
  return (
    <Dialog title="Keys" onClose={onClose}>
      <Facts rows={list.map(([keys, meaning]) => [<Keycaps keys={keys} />, meaning] as const)} />
      <KeySwitch />
      <div class="buttons">
        <Button onClick={onClose}>Close</Button>
      </div>
    </Dialog>
  );
}
