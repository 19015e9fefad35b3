import type { ComponentChildren } from 'preact';
import { linkTo, usePlace } from '../../data/route.ts';
import { isAdmin } from '../../data/session.ts';
import { PageHead } from '../../parts/head.tsx';
import { BackupSettings } from './backup-settings.tsx';
import { CloudSettings } from './cloud-settings.tsx';
import { PageSettings } from './page-settings.tsx';
import { PasswordSettings } from './password-settings.tsx';
import { RuleSettings } from './rule-settings.tsx';
import { ServerSettings } from './server-settings.tsx';
import { TokenSettings } from './token-settings.tsx';
import { UserSettings } from './user-settings.tsx';
import { WebhookSettings } from './webhook-settings.tsx';

const PARTS: readonly (readonly [path: string, label: string, draw: () => ComponentChildren])[] = [
  ['server', 'Server', () => <ServerSettings />],
  ['cloud', 'Cloud and keys', () => <CloudSettings />],
  ['users', 'Users', () => <UserSettings />],
  ['tokens', 'Tokens', () => <TokenSettings />],
  ['rules', 'Rules', () => <RuleSettings />],
  ['webhooks', 'Webhooks', () => <WebhookSettings />],
  ['backup', 'Backup', () => <BackupSettings />],
  ['password', 'Your password', () => <PasswordSettings />],
  ['page', 'This page', () => <PageSettings />],
];

export function Settings() {
  const chosen = usePlace().path[1] ?? 'server';
  const part = PARTS.find(([path]) => path === chosen) ?? PARTS[0];
  return (
    <div class="content">
      <PageHead
        title="Settings"
        lead={isAdmin() ? undefined : 'Your account can see these settings. Administrators can change them.'}
      />
      <nav class="settings-nav" aria-label="Settings">
        {PARTS.map(([path, label]) => (
          <a
            key={path}
            href={linkTo(`settings/${path}`)}
            aria-current={path === part?.[0] ? 'page' : undefined}
          >
            {label}
          </a>
        ))}
      </nav>
      {part?.[2]()}
    </div>
  );
}
