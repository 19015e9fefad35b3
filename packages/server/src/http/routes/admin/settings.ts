import { SETTING_API } from '@berth/protocol/admin/settings';
import { type Config, showConfig } from '../../../config.ts';
import { adminRoutes } from '../../admin-route.ts';
import type { Route } from '../../route.ts';

/** Secrets come from files and the environment, and are not part of the settings. */
export function settingsRoutes(settings: Config): readonly Route[] {
  return adminRoutes(SETTING_API, {
    'GET /api/admin/settings': {
      name: 'admin_settings',
      access: 'operator',
      summary: 'The current settings, by their names in berth.yaml',
      handle: (_, send) => send({ settings: showConfig(settings) }),
    },
  });
}
