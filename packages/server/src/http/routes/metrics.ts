import type { Metrics } from '../../services/metrics/metrics.ts';
import { defineRoute, type Route } from '../route.ts';

export function metricsRoute(metrics: Metrics): Route {
  return defineRoute({
    name: 'metrics',
    methods: ['GET'],
    paths: ['/metrics'],
    access: 'monitor',
    summary: 'The state of the server for monitoring, in the format of OpenMetrics or Prometheus',
    answer: { kind: 'metrics' },
    handle: async ({ request }) => {
      const type = takesOpenMetrics(request.headers.get('accept') ?? '') ? 'openmetrics' : 'prometheus';
      return { status: 200, type, body: await metrics.write(type) };
    },
  });
}

/** Only if it is named: wildcards get the older format, which every program can read. */
function takesOpenMetrics(accept: string): boolean {
  return accept.split(',').some((choice) => {
    const [type = '', ...parameters] = choice.split(';').map((part) => part.trim().toLowerCase());
    if (type !== 'application/openmetrics-text') return false;
    const given = new Map(parameters.map((part) => part.split('=', 2) as [string, string | undefined]));
    const version = given.get('version') ?? '1.0.0';
    return version.replaceAll('"', '') === '1.0.0' && Number(given.get('q') ?? 1) > 0;
  });
}
