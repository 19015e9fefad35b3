import type { Metrics } from '../../services/metrics/metrics.ts';
import { defineRoute, type Route } from '../route.ts';

export function metricsRoute(metrics: Metrics): Route {
  return defineRoute('GET /metrics', {
    name: 'metrics',
    access: 'monitor',
    summary: 'The state of the server for monitoring, in the format of Prometheus',
    answer: { kind: 'metrics' },
    handle: async () => ({ status: 200, type: 'prometheus', body: await metrics.write() }),
  });
}
