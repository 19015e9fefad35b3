import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { readMachineId } from '../../src/store/machine-id.ts';

describe('the id of the machine', () => {
  test('is the same every time, and not empty if there is one', () => {
    const id = readMachineId({});
    assert.equal(readMachineId({}), id);
    assert.ok(id === null || /^\S+$/.test(id));
  });

  test('does not exist in a container, which is created anew from its image', () => {
    assert.equal(readMachineId({ container: 'podman' }), null);
    assert.equal(readMachineId({ KUBERNETES_SERVICE_HOST: '10.0.0.1' }), null);
  });
});
