import type { ComponentChildren } from 'preact';
import { linkTo, usePlace } from '../../data/route.ts';
import { may, session } from '../../data/session.ts';
import { listAllowed, type Section } from '../../parts/frame.tsx';
import { PageHead } from '../../parts/head.tsx';
import { sayLimit } from '../../words/role.ts';
import { BackupSettings } from './backup-settings.tsx';
import { NotificationSettings } from './channel-settings.tsx';
import { CloudSettings } from './cloud-settings.tsx';
import { ForwardingSettings } from './forwarding-settings.tsx';
import { LimitSettings } from './limit-settings.tsx';
import { PageSettings } from './page-settings.tsx';
import { PasswordSettings } from './password-settings.tsx';
import { ServerSettings } from './server-settings.tsx';
import { TokenSettings } from './token-settings.tsx';
import { UserSettings } from './user-settings.tsx';

interface Part extends Section {
  readonly draw: () => ComponentChildren;
}

const PARTS: readonly Part[] = [
  {
    path: 'server',
    needs: 'GET /api/admin/status',
    label: 'Server',
    words: 'version certificate tls data database',
    draw: () => <ServerSettings />,
  },
  {
    path: 'cloud',
    needs: 'GET /api/admin/status',
    label: 'Cloud and keys',
    words: 'vendor api key master key',
    draw: () => <CloudSettings />,
  },
  {
    path: 'users',
    needs: 'GET /api/admin/users',
    label: 'Users',
    words: 'accounts roles administrators',
    draw: () => <UserSettings />,
  },
  {
    path: 'tokens',
    needs: 'GET /api/admin/tokens',
    label: 'Tokens',
    words: 'api programs',
    draw: () => <TokenSettings />,
  },
  {
    path: 'limits',
    needs: 'GET /api/admin/settings',
    label: 'Limits and notices',
    words: 'rate address',
    draw: () => <LimitSettings />,
  },
  {
    path: 'notifications',
    needs: 'GET /api/admin/channels',
    label: 'Notifications',
    words: 'mail slack teams webhooks channels quiet hours digest events secret',
    draw: () => <NotificationSettings />,
  },
  {
    path: 'forwarding',
    needs: 'GET /api/admin/status',
    label: 'Forwarding',
    words: 'syslog siem audit log events file',
    draw: () => <ForwardingSettings />,
  },
  {
    path: 'backup',
    needs: 'GET /api/admin/backups',
    label: 'Backup',
    words: 'schedule restore passphrase',
    draw: () => <BackupSettings />,
  },
  {
    path: 'password',
    label: 'Your password',
    words: 'account second factor code authenticator totp',
    draw: () => <PasswordSettings />,
  },
  { path: 'page', label: 'This page', words: 'name logo theme dark keys', draw: () => <PageSettings /> },
];

/** For the finder. */
export const SETTING_SECTIONS: readonly Section[] = PARTS;

export function Settings() {
  const chosen = usePlace().path[1];
  const products = session.get()?.products ?? null;
  const parts = listAllowed(PARTS);
  const part = parts.find(({ path }) => path === chosen) ?? parts[0];
  return (
    <div class="content settings">
      <PageHead
        title="Settings"
        lead={
          products !== null
            ? `${sayLimit(products)}. Administrators see the settings of the server.`
            : may('POST /api/admin/settings')
              ? undefined
              : 'Your account can see these settings. Administrators can change them.'
        }
      />
      <nav class="settings-nav" aria-label="Settings">
        {parts.map(({ path, label }) => (
          <a
            key={path}
            href={linkTo(`settings/${path}`)}
            aria-current={path === part?.path ? 'page' : undefined}
          >
            {label}
          </a>
        ))}
      </nav>
      {part?.draw()}
    </div>
  );
}
