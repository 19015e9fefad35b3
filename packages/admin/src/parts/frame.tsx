import type { OperationKey } from '@berth/protocol/admin/admin-api';
import type { Welcome } from '@berth/protocol/admin/session';
import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { readNow } from '../clock.ts';
import type { ApiError } from '../data/api.ts';
import { connection } from '../data/connection.ts';
import { retryNow } from '../data/live.ts';
import { useFindings, useLicenses } from '../data/overview.ts';
import { goTo, linkTo, usePlace } from '../data/route.ts';
import { may, session, signOut } from '../data/session.ts';
import { chooseTheme, type Theme, theme } from '../data/theme.ts';
import { useValue } from '../data/value.ts';
import { listConcerns } from '../words/attention.ts';
import type { Level } from '../words/judge-license.ts';
import { formatNumber } from '../words/numbers.ts';
import { sayLimit } from '../words/role.ts';
import { formatSeconds } from '../words/time.ts';
import { Brand } from './brand.tsx';
import { Button } from './button.tsx';
import { Icon, type IconName } from './icon.tsx';
import { MenuButton } from './menu.tsx';
import { Name } from './name.tsx';
import { Shape } from './shape.tsx';
import { showToast } from './toasts.tsx';

/** A part of a screen that can be found. */
export interface Section {
  readonly path: string;
  readonly label: string;
  /** What else it is found by. */
  readonly words: string;
  /** What it shows; whoever may not use that does not see it. */
  readonly needs?: OperationKey;
}

export interface Screen {
  readonly path: string;
  readonly label: string;
  readonly icon: IconName;
  /** Pressed after `G`, it goes there. */
  readonly key: string | null;
  /** Whether it is in the bar of a phone, which has room for four. */
  readonly isTab: boolean;
  /** `part`: what follows its path in the address. */
  readonly draw: (part: string | undefined) => ComponentChildren;
  readonly sections?: readonly Section[];
  readonly needs?: OperationKey;
}

/** Those that this account may see. */
export function listAllowed<T extends Pick<Section, 'needs'>>(all: readonly T[]): readonly T[] {
  return all.filter(({ needs }) => needs === undefined || may(needs));
}

interface FrameProps {
  readonly screens: readonly Screen[];
  readonly welcome: Welcome;
  readonly onFind: () => void;
  readonly onKeys: () => void;
  readonly children: ComponentChildren;
}

/** What surrounds every screen. */
export function Frame({ children, ...props }: FrameProps) {
  const counts = useCounts();
  const isLive = useValue(connection).state !== 'lost';
  return (
    <div class={`frame${isLive ? '' : ' not-live'}`}>
      <button type="button" class="skip" onClick={() => document.getElementById('main')?.focus()}>
        Skip to the content
      </button>
      <Sidebar {...props} counts={counts} />
      <TopBar welcome={props.welcome} />
      <div class="main-column">
        <ConnectionBanner />
        <main class="main" id="main" tabIndex={-1}>
          {children}
        </main>
      </div>
      <TabBar {...props} worst={counts.worst} />
    </div>
  );
}

interface Counts {
  readonly slots: number | null;
  readonly licenses: number | null;
  /** The worst of what is on the Overview. */
  readonly worst: Level | null;
}

function useCounts(): Counts {
  const licenses = useLicenses().data?.licenses ?? null;
  const findings = useFindings().data?.findings ?? [];
  if (licenses === null) return { slots: null, licenses: null, worst: null };
  const [worst] = listConcerns(licenses, findings, readNow());
  const slots = licenses.reduce((sum, { floating_in_use }) => sum + floating_in_use, 0);
  return { slots, licenses: licenses.length, worst: worst?.level ?? null };
}

function useCurrent(): string {
  const [name = 'overview'] = usePlace().path;
  // A person is reached from the slots.
  return name === 'people' ? 'slots' : name;
}

type SidebarProps = Omit<FrameProps, 'children'> & { readonly counts: Counts };

function Sidebar({ welcome, screens, counts, onFind, onKeys }: SidebarProps) {
  const current = useCurrent();
  const numbers: Readonly<Record<string, number | null>> = { slots: counts.slots, licenses: counts.licenses };
  return (
    <aside class="sidebar" aria-label="Sidebar">
      <a class="brand" href={linkTo('overview')}>
        <Brand welcome={welcome} />
        <span class="hidden-text">, Overview</span>
      </a>
      <button type="button" class="find" onClick={onFind}>
        <Icon name="search" />
        <span>Find anything</span>
        <i class="keycap" aria-hidden="true">
          Ctrl K
        </i>
      </button>
      <nav class="nav" aria-label="Screens">
        {screens.map(({ path, label, icon }) => (
          <a key={path} href={linkTo(path)} aria-current={current === path ? 'page' : undefined}>
            <Icon name={icon} />
            <span class="label">{label}</span>
            {path === 'overview' && current !== path && <Mark level={counts.worst} />}
            {numbers[path] != null && <span class="count">{formatNumber(numbers[path])}</span>}
          </a>
        ))}
      </nav>
      <div class="sidebar-foot">
        <div class="server">
          <b>{location.hostname}</b>
          <Live />
          <span>Berth {welcome.version}</span>
          <Limit />
        </div>
        <AccountMenu onKeys={onKeys} />
      </div>
    </aside>
  );
}

function Mark({ level }: { readonly level: Level | null }) {
  if (level === null || level === 'ok' || level === 'off') return null;
  return (
    <span class="mark">
      <Shape level={level} size={14} />
      <span class="hidden-text">needs attention</span>
    </span>
  );
}

function Live() {
  const { state, heardAt } = useValue(connection);
  return (
    <span class="live">
      <Shape level={state === 'lost' ? 'warning' : state === 'live' ? 'ok' : 'off'} size={13} />
      {state === 'live'
        ? 'Live'
        : state === 'lost'
          ? `Connection lost since ${formatSeconds(heardAt)}`
          : 'Connecting'}
    </span>
  );
}

function useEverySecond(isOn: boolean): void {
  const [, redraw] = useState({});
  useEffect(() => {
    if (!isOn) return;
    const timer = setInterval(() => redraw({}), 1000);
    return () => clearInterval(timer);
  }, [isOn]);
}

export async function leave(): Promise<void> {
  await signOut().catch((error: ApiError) => showToast(`You are still signed in. ${error.message}`));
}

/** Which products the account is limited to. */
function Limit() {
  const products = useValue(session)?.products ?? null;
  return products === null ? null : <bdi title={products.join(', ')}>{sayLimit(products)}</bdi>;
}

function AccountMenu({ onKeys }: { readonly onKeys: () => void }) {
  const who = useValue(session);
  const chosen = useValue(theme);
  if (who == null) return null;
  const themes: readonly (readonly [Theme, string])[] = [
    ['system', 'Theme of the system'],
    ['light', 'Light'],
    ['dark', 'Dark'],
  ];
  const own = {
    label: 'Change password…',
    icon: 'user' as const,
    act: () => goTo(linkTo('settings/password')),
  };
  const items = [
    ...(may('POST /api/v4/setPassword') ? [own] : []),
    { label: 'Keys', icon: 'menu' as const, key: '?', act: onKeys },
    null,
    ...themes.map(([value, label]) => ({ label, isChosen: value === chosen, act: () => chooseTheme(value) })),
    null,
    { label: 'Sign out', icon: 'release' as const, act: () => void leave() },
  ];
  return (
    <MenuButton label={`Account ${who.name}, ${who.role}`} className="account" items={items}>
      <span class="hidden-text">Account </span>
      <span class="who">
        <Name text={who.name} />
      </span>
      <span class="hidden-text">, </span>
      <span class="role">{who.role}</span>
    </MenuButton>
  );
}

function TopBar({ welcome }: { readonly welcome: Welcome }) {
  return (
    <header class="top-bar">
      <a class="brand" href={linkTo('overview')}>
        <Brand welcome={{ ...welcome, name: welcome.name || location.hostname }} />
      </a>
      <Live />
    </header>
  );
}

type TabBarProps = Pick<FrameProps, 'screens' | 'onKeys'> & { readonly worst: Level | null };

function TabBar({ screens, worst, onKeys }: TabBarProps) {
  const current = useCurrent();
  const tabs = screens.filter(({ isTab }) => isTab);
  const items = [
    ...screens
      .filter(({ isTab }) => !isTab)
      .map(({ path, label, icon }) => ({ label, icon, act: () => goTo(linkTo(path)) })),
    { label: 'Change password…', icon: 'user' as const, act: () => goTo(linkTo('settings/password')) },
    {
      label: 'Light or dark',
      icon: 'theme' as const,
      act: () => chooseTheme(theme.get() === 'dark' ? 'light' : 'dark'),
    },
    { label: 'Keys', icon: 'menu' as const, act: onKeys },
    null,
    { label: 'Sign out', icon: 'release' as const, act: () => void leave() },
  ];
  return (
    <nav class="tabs-bar" aria-label="Screens">
      {tabs.map(({ path, label, icon }) => (
        <a key={path} href={linkTo(path)} aria-current={current === path ? 'page' : undefined}>
          <Icon name={icon} size={20} />
          {label}
          {path === 'overview' && current !== path && <Mark level={worst} />}
        </a>
      ))}
      <MenuButton label="More" className="" items={items}>
        <Icon name="menu" size={20} />
        More
      </MenuButton>
    </nav>
  );
}

function ConnectionBanner() {
  const { state, heardAt, retryAt } = useValue(connection);
  useEverySecond(state === 'lost');
  if (state !== 'lost') return null;
  const seconds = retryAt === null ? 0 : Math.max(0, Math.ceil((retryAt - readNow()) / 1000));
  return (
    <div class="banner">
      <Shape level="warning" />
      <span class="grow">
        <span role="alert">
          <b>Connection lost since {formatSeconds(heardAt)}.</b> Below is what was known then; changes wait
          until the server answers.
        </span>{' '}
        {seconds > 0 ? `Trying again in ${seconds} s.` : 'Trying again.'}
      </span>
      <Button onClick={retryNow}>Try now</Button>
    </div>
  );
}
