import { SETTING_API } from '@berth/protocol/admin/settings';
import type { LiveSettings } from '../../../services/settings/live-settings.ts';
import { SETTINGS } from '../../../settings.ts';
import { adminRoutes } from '../../admin-route.ts';
import { toWire } from '../../reply/to-wire.ts';
import type { Route } from '../../route.ts';

export function settingsRoutes(settings: LiveSettings): readonly Route[] {
  const list = async () => ({ settings: (await settings.describe()).map(toWire) });
  return adminRoutes(SETTING_API, {
    'GET /api/admin/settings': {
      name: 'admin_settings',
      access: 'viewer',
      summary: 'The settings in force, and where each comes from',
      handle: async (_, send) => send(await list()),
    },
    'POST /api/admin/settings': {
      name: 'admin_settings_change',
      access: 'admin',
      mustConfirm: ({ body: { changes } }) =>
        SETTINGS.some(({ path, isGuarded }) => isGuarded === true && Object.hasOwn(changes ?? {}, path)),
      summary: 'Change settings that running servers apply at once: all of them, or none',
      errors: ['setting_not_changeable'],
      handle: async ({ body, caller }, send) => {
        await settings.change(body.changes, caller.actor);
        return send(await list());
      },
    },
  });
}
