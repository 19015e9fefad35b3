import { z } from 'zod';
import { told } from '../fields.ts';
import type { Operations } from './operation.ts';

export const SETTING_API = {
  'GET /api/admin/settings': { answer: z.object({ settings: told(z.looseObject({}), 'By their names.') }) },
} as const satisfies Operations;
