import { DEMO_LICENSE } from '../../packages/server/src/core/nouns/demo-license.ts';
import { type License, licenseId } from '../../packages/server/src/core/nouns/license.ts';

/** A license with defaults for everything the test omits. */
export function testLicense(id: number, facts: Partial<Omit<License, 'id'>> = {}): License {
  return {
    ...DEMO_LICENSE,
    source: 'offline',
    product: 'cad',
    slots: 5,
    features: [],
    ...facts,
    id: licenseId(id),
  };
}
