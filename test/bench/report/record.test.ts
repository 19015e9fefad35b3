import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Measurement } from '../measurement.ts';
import type { Verdict } from '../scenarios.ts';
import { makeRecord } from './record.ts';
import type { Report } from './report.ts';

const MEASUREMENT: Measurement = {
  label: 'heartbeat',
  requests: 1000,
  rate: 1234.5,
  p50: 1.26,
  p99: 9,
  p999: 10,
  max: 11,
  histogram: [],
  errors: 0,
  firstError: null,
  cpuMicros: 30.4,
  databaseMicros: null,
  othersCores: null,
  generatorShare: 0.5,
  constant: { rate: 2469, cpuMicros: null },
};

function reportOf(commit: string, verdicts: readonly Verdict[]): Report {
  return { store: 'sqlite', machine: { commit }, measurements: [MEASUREMENT], notes: [], verdicts };
}

test('a record has the last run, and of each target what all runs measured', () => {
  const fast = { target: 'a ratio', measured: '0.97 ×', isMet: true };
  const slow = { target: 'a ratio', measured: '0.96 × (0.80–1.10)', isMet: false };
  const none = { target: 'errors', measured: 'none', isMet: true };
  const record = makeRecord([reportOf('one', [fast, none]), reportOf('two', [slow, none])]);
  assert.deepEqual([record.machine.commit, record.runs], ['two', 2]);
  const [{ scenario, 'requests/s': rate, share } = {}] = record.measurements;
  assert.deepEqual({ scenario, rate, share }, { scenario: 'heartbeat', rate: '1,235', share: '50 %' });
  assert.deepEqual(record.targets, [
    { target: 'a ratio', measured: '0.96–0.97 ×', mark: 'met in 1 of 2' },
    { target: 'errors', measured: 'none', mark: 'met' },
  ]);
});
