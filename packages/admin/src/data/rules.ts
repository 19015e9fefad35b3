import { useAllowed } from './overview.ts';

/** The times of rules begin and end without an event. */
const RULES_MS = 60_000;

/** The rules in force, with what they do now. */
export function useRules() {
  return useAllowed('/api/admin/rules', {}, { isLive: true, everyMs: RULES_MS });
}
