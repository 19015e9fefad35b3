import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { readMachineId } from './machine-id.ts';

describe('the id of the machine', () => {
  test('is the same every time, and says something where it is one', () => {
    const id = readMachineId({});
    assert.equal(readMachineId({}), id);
    assert.ok(id === null || /^\S+$/.test(id));
  });

  test('is none in a container, which is made anew from its image', () => {
    assert.equal(readMachineId({ container: 'podman' }), null);
    assert.equal(readMachineId({ KUBERNETES_SERVICE_HOST: '10.0.0.1' }), null);
  });
});
