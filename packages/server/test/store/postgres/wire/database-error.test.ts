import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Fault } from '../../../../src/core/nouns/fault.ts';
import {
  ConnectionLost,
  DatabaseError,
  isConnectionLost,
  isConnectionUseless,
  isDataError,
  isRetryable,
  toFault,
} from '../../../../src/store/postgres/wire/database-error.ts';

function errorOf(code: string, severity = 'ERROR'): Error {
  return Object.assign(new Error('secret detail'), { code, severity });
}

const KINDS = { isConnectionLost, isConnectionUseless, isDataError, isRetryable };

function kindsOf(error: unknown): string[] {
  return Object.entries(KINDS).flatMap(([name, is]) => (is(error) ? [name] : []));
}

describe('an error of the database', () => {
  for (const [code, severity, kinds, sentence] of [
    ['ECONNREFUSED', '', ['isConnectionLost', 'isConnectionUseless'], /cannot be reached/],
    ['08006', 'ERROR', ['isConnectionLost', 'isConnectionUseless'], /connection to the database was lost/],
    ['57P01', 'FATAL', ['isConnectionLost', 'isConnectionUseless'], /cannot be reached/],
    ['25P03', 'FATAL', ['isConnectionLost', 'isConnectionUseless'], /cannot be reached/],
    ['57P03', 'FATAL', ['isConnectionLost', 'isConnectionUseless'], /is starting or stopping/],
    ['28P01', 'FATAL', ['isConnectionLost', 'isConnectionUseless'], /the user or the password/],
    ['25006', 'ERROR', ['isConnectionUseless'], /is read-only/],
    ['40001', 'ERROR', ['isRetryable'], /reported an error/],
    ['40P01', 'ERROR', ['isRetryable'], /reported an error/],
    ['55P03', 'ERROR', [], /busy for too long/],
    ['57014', 'ERROR', [], /took too long/],
    ['22021', 'ERROR', ['isDataError'], /reported an error/],
    ['23505', 'ERROR', ['isDataError'], /reported an error/],
    ['42501', 'ERROR', [], /lacks a privilege/],
    ['53100', 'ERROR', [], /disk of the database is full/],
    ['42P05', 'ERROR', [], /database\.prepareStatements: false/],
    ['26000', 'ERROR', ['isConnectionUseless', 'isRetryable'], /database\.prepareStatements: false/],
    ['42P01', 'ERROR', [], /reported an error/],
    ['EPERM', 'FATAL', [], /reported an error/],
  ] as const) {
    test(`${code} becomes a message, with the error as its cause`, () => {
      const error = errorOf(code, severity);
      assert.deepEqual(kindsOf(error), kinds);
      const fault = toFault(error);
      assert.deepEqual([fault.code, fault.cause], ['store_unavailable', error]);
      assert.match(fault.message, sentence);
      assert.doesNotMatch(fault.message, /secret/);
      assert.equal(isConnectionLost(fault), isConnectionLost(error));
    });
  }

  test('with which PgBouncer ends a connection says what to change', () => {
    const cause = new DatabaseError('transaction blocks not allowed in statement pooling mode', {});
    assert.match(toFault(new ConnectionLost('It is gone.', { cause })).message, /Set pool_mode/);
    const full = new DatabaseError('no more connections allowed (max_client_conn)', { code: '08P01' });
    assert.match(toFault(full).message, /Raise its max_client_conn/);
  });

  test('that already has a message keeps it', () => {
    const fault = new Fault('store_unavailable', 'The server is stopping.');
    assert.equal(toFault(fault), fault);
    assert.equal(toFault(new ConnectionLost('It is gone.')).message, 'It is gone.');
    assert.deepEqual(kindsOf(fault), []);
    assert.deepEqual(kindsOf('no error at all'), []);
  });
});
