import type { Setting } from '@berth/protocol/admin/settings';

/** Where a value is fixed, or `null` if it is not. */
export function sayFixed({ name, source, place }: Pick<Setting, 'name' | 'source' | 'place'>): string | null {
  if (source === 'file') return `Fixed by ${name} in ${place}`;
  if (source === 'environment') return `Fixed by the variable ${place}`;
  return source === 'flag' ? `Fixed by the flag ${place}` : null;
}

/** How many settings are not saved, and which. */
export function countChanges(names: readonly string[]): string {
  const count = names.length === 1 ? 'One change is' : `${names.length} changes are`;
  return `${count} not saved: ${names.join(', ')}.`;
}

/** How a schedule repeats, by its text. */
export function repeatOf(schedule: string): 'never' | 'daily' | 'every' {
  if (schedule === '') return 'never';
  return schedule.includes(':') ? 'daily' : 'every';
}

/** For berth.yaml. It is complete: with the secret in place, the server starts with it. */
export const WEBHOOK_EXAMPLE = `webhooks:
  url: https://receiver.example/berth
  secretFile: /etc/berth/webhook-secret`;

export const WEBHOOK_SECRET_COMMAND = 'openssl rand -hex 32 > /etc/berth/webhook-secret';
