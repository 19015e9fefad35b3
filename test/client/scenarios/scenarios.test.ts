import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { playScenario } from './play-scenario.ts';
import { playEvery, readScenarios } from './scenario.ts';

const SCENARIOS = readScenarios();

describe('the client, as in clients/scenarios', () => {
  for (const scenario of SCENARIOS) {
    test(`${scenario.name}: ${scenario.title}`, (t) =>
      playEvery(scenario, (killAt) => playScenario(t, scenario, killAt)));
  }

  test('every scenario checks something', () => {
    assert.ok(SCENARIOS.length > 20);
    for (const { name, steps } of SCENARIOS)
      assert.ok(
        steps.some((step) => 'expect' in step || 'outcome' in step),
        name,
      );
  });
});
