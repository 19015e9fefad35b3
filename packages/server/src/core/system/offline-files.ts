import type { NumberUsage, OpenRequest } from '../system-command.ts';
import { ON_SERVER, type SystemFacts, type SystemModule } from '../system-module.ts';

export const openRequest = {
  ...ON_SERVER,

  decide({ requestId, request, product, licenseKey, by }) {
    return {
      outcome: { kind: 'done', count: 1 },
      changes: [{ kind: 'add_request', requestId, request, product, licenseKey }],
      events: [{ kind: 'offline_request_made', requestId, request, product, by }],
    };
  },
} satisfies SystemModule<OpenRequest>;

/** Every usage file has its own number, and a later one a higher. */
export const numberUsage = {
  ...ON_SERVER,

  decide({ by }, { usageSequence }: Pick<SystemFacts, 'usageSequence'>) {
    const sequence = usageSequence + 1;
    return {
      outcome: { kind: 'done', count: sequence },
      changes: [{ kind: 'set_usage_sequence', sequence }],
      events: [{ kind: 'usage_file_made', sequence, by }],
    };
  },
} satisfies SystemModule<NumberUsage>;
