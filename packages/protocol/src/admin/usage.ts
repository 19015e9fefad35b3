import { usageAnswer } from '../api/offline.ts';
import type { Operations } from './operation.ts';

export const USAGE_API = {
  'POST /api/admin/usage': { answer: usageAnswer },
} as const satisfies Operations;
