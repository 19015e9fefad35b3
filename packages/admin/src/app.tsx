import type { Welcome } from '@berth/protocol/admin/session';
import { useEffect, useState } from 'preact/hooks';
import type { ApiError } from './data/api.ts';
import { goTo, linkTo, usePlace } from './data/route.ts';
import { loadSession, loadWelcome, session, signOut } from './data/session.ts';
import { useValue } from './data/value.ts';
import { Dialog, Questions } from './parts/dialog.tsx';
import { Finder } from './parts/finder.tsx';
import { Frame } from './parts/frame.tsx';
import { hasKeys, KEY_LIST, switchKeys, useGoKeys, useKeys } from './parts/keys.ts';
import { Empty, ErrorBox } from './parts/states.tsx';
import { Toasts, undoLast } from './parts/toasts.tsx';
import { AddLicense } from './screens/add/add-license.tsx';
import { TryApi } from './screens/api/try-api.tsx';
import { Audit } from './screens/audit/audit.tsx';
import { LicenseScreen } from './screens/licenses/license.tsx';
import { Licenses } from './screens/licenses/licenses.tsx';
import { Overview } from './screens/overview/overview.tsx';
import { Reports } from './screens/reports/reports.tsx';
import { Settings } from './screens/settings/settings.tsx';
import { Slots } from './screens/slots/slots.tsx';
import { FirstRun } from './screens/welcome/first-run.tsx';
import { MustSetPassword, SignIn } from './screens/welcome/sign-in.tsx';

export function App() {
  const [welcome, setWelcome] = useState<Welcome | null>(null);
  const [error, setError] = useState<ApiError | null>(null);
  const who = useValue(session);
  const load = () => {
    setError(null);
    Promise.all([loadWelcome().then(setWelcome), session.get() === undefined ? loadSession() : null]).catch(
      setError,
    );
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
  if (welcome === null || who === undefined) return null;
  return (
    <>
      <Signed welcome={welcome} onPassword={load} />
      <Questions />
      <Toasts />
    </>
  );
}

function Signed({ welcome, onPassword }: { readonly welcome: Welcome; readonly onPassword: () => void }) {
  const who = useValue(session);
  const { path } = usePlace();
  const isFirst = !welcome.is_set_up || (path[0] === 'welcome' && who != null);
  // The password that was set just now.
  useEffect(() => {
    if (path[0] === 'welcome' && !welcome.is_set_up) onPassword();
  }, [path[0]]);
  if (isFirst) return <FirstRun welcome={welcome} />;
  if (who == null) return <SignIn welcome={welcome} />;
  if (who.must_set_password) return <MustSetPassword welcome={welcome} />;
  if (who.role === 'user') return <NotForUsers />;
  return <Desk welcome={welcome} />;
}

function NotForUsers() {
  return (
    <div class="lonely">
      <Empty title="This account cannot look after the server">
        <p>
          It has the role “user”, which is for applications. Ask an administrator for the role “operator”.
        </p>
        <button type="button" class="button" onClick={() => void signOut()}>
          Sign out
        </button>
      </Empty>
    </div>
  );
}

const PATHS = { o: 'overview', s: 'slots', l: 'licenses', r: 'reports', a: 'audit' };

const WAYS = Object.fromEntries(Object.entries(PATHS).map(([key, path]) => [key, () => goTo(linkTo(path))]));

function Desk({ welcome }: { readonly welcome: Welcome }) {
  const [floating, setFloating] = useState<'finder' | 'keys' | null>(null);
  useEffect(() => {
    const listen = (event: KeyboardEvent) => {
      if (!(event.ctrlKey || event.metaKey) || event.key.toLowerCase() !== 'k') return;
      event.preventDefault();
      setFloating('finder');
    };
    addEventListener('keydown', listen);
    return () => removeEventListener('keydown', listen);
  }, []);
  useGoKeys(WAYS);
  useKeys({
    z: undoLast,
    '?': () => setFloating('keys'),
    '/': () => document.querySelector<HTMLElement>('[data-search]')?.focus(),
  });
  return (
    <>
      <Frame welcome={welcome} onFind={() => setFloating('finder')} onKeys={() => setFloating('keys')}>
        <CurrentScreen />
      </Frame>
      {floating === 'finder' && <Finder onClose={() => setFloating(null)} />}
      {floating === 'keys' && <KeyList onClose={() => setFloating(null)} />}
    </>
  );
}

function CurrentScreen() {
  const { path } = usePlace();
  useEffect(() => scrollTo(0, 0), [path.join('/')]);
  switch (path[0] ?? 'overview') {
    case 'overview':
      return <Overview />;
    case 'slots':
      return <Slots />;
    case 'licenses':
      return path[1] === undefined ? <Licenses /> : path[1] === 'add' ? <AddLicense /> : <LicenseScreen />;
    case 'reports':
      return <Reports />;
    case 'audit':
      return <Audit />;
    case 'settings':
      return <Settings />;
    case 'api':
      return <TryApi />;
    default:
      return (
        <Empty title="There is nothing here">
          <p>The address may be old or mistyped.</p>
          <a class="button" href={linkTo('overview')}>
            Go to the Overview
          </a>
        </Empty>
      );
  }
}

function KeyList({ onClose }: { readonly onClose: () => void }) {
  const isOn = useValue(hasKeys);
  return (
    <Dialog title="Keys" onClose={onClose}>
      <dl class="facts">
        {KEY_LIST.map(([keys, meaning]) => (
          <>
            <dt>
              {keys.split(' ').map((key) => (
                <kbd key={key} class="keycap">
                  {key}
                </kbd>
              ))}
            </dt>
            <dd>{meaning}</dd>
          </>
        ))}
      </dl>
      <label class="check">
        <input type="checkbox" checked={isOn} onChange={(event) => switchKeys(event.currentTarget.checked)} />
        Single letters act, unless something is typed
      </label>
      <div class="buttons">
        <button type="button" class="button" onClick={onClose}>
          Close
        </button>
      </div>
    </Dialog>
  );
}
