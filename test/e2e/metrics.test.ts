import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { METRICS } from '../../packages/server/src/telemetry/metrics/metrics.ts';
import { readMetrics } from '../support/metric-text.ts';
import { pollUntil } from '../support/poll.ts';
import { startServerHere } from '../support/server-here.ts';
import { describeStores } from '../support/stores/test-stores.ts';

/** Metrics that this server has no reason to show: no license expires; there is no cloud, TLS or backup. */
const ABSENT = /^berth_(?:cloud_|certificate_|backup_age_|reserved_|\w+_expiry_days$)/;

describeStores('a running server', (store) => {
  test('measures its commits, its event loop and its requests', async (t) => {
    const data = mkdtempSync(join(tmpdir(), 'berth-metrics-'));
    t.after(() => rmSync(data, { recursive: true, force: true }));
    const { url, stop } = await startServerHere({ data, args: ['--demo'] });
    t.after(stop);
    const register = (user: string) =>
      fetch(`${url}/api/v4/register`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ user }),
      }).then(({ status }) => status);
    const statuses = await Promise.all(Array.from({ length: 40 }, (_, index) => register(`user-${index}`)));
    assert.equal(statuses.filter((status) => status === 200).length, 5);
    const { types, values } = await pollUntil('the event loop was measured', async () => {
      const response = await fetch(`${url}/metrics`);
      const page = readMetrics(await response.text());
      return (page.values.get('berth_event_loop_delay_seconds_count') ?? 0) > 0 ? page : undefined;
    });
    assert.equal(values.get('berth_denials_total{reason="floating_not_available"}'), 35);
    assert.equal(values.get('berth_requests_total{route="register",status="200"}'), 5);
    assert.equal(values.get('berth_requests_total{route="register",status="400"}'), 35);
    const size = values.get('berth_batch_size_sum') as number;
    assert.ok(size >= 40 && size > (values.get('berth_batch_size_count') as number), 'some share a commit');
    assert.ok((values.get('berth_sync_duration_seconds_sum') as number) > 0);
    const isPostgres = store === 'PostgreSQL';
    const expected = Object.keys(METRICS).filter(
      (name) => !ABSENT.test(name) && (isPostgres || !name.startsWith('berth_database_')),
    );
    assert.deepEqual([...types.keys()], expected);
  });
});
