import { told } from '@berth/protocol/fields';
import { z } from 'zod';
import { type Config, showConfig } from '../../../config.ts';
import { json } from '../../reply/reply.ts';
import { defineRoute, type Route } from '../../route.ts';

/** Secrets come from files and the environment, and are not part of the settings. */
export function settingsRoutes(settings: Config): readonly Route[] {
  return [
    defineRoute({
      name: 'admin_settings',
      methods: ['GET'],
      paths: ['/api/admin/settings'],
      access: 'operator',
      summary: 'The current settings, by their names in berth.yaml',
      answer: { kind: 'json', schema: z.object({ settings: told(z.looseObject({}), 'By their names.') }) },
      errors: [],
      handle: () => json({ settings: showConfig(settings) }),
    }),
  ];
}
