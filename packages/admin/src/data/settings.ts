import type { Setting } from '@berth/protocol/admin/settings';
import { type Resource, useResource } from './resource.ts';

/** The settings in force; `of` finds one by its name. */
export function useSettings() {
  const all: Resource<{ settings: readonly Setting[] }> = useResource(
    '/api/admin/settings',
    {},
    { isLive: true },
  );
  return { ...all, of: (name: string) => all.data?.settings.find((one) => one.name === name) ?? null };
}

/** The value of a setting as a text. */
export function sayValue(value: Setting['value']): string {
  return Array.isArray(value) ? value.join(', ') : String(value);
}
