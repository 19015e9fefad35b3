import { parentPort, workerData } from 'node:worker_threads';
import type { Command, Identity } from '@berth/cloud/core/command';
import { UNKNOWN_HOST } from '@berth/cloud/core/license';
import { createCloudStore } from '@berth/cloud/store/cloud-store';
import { openDatabase } from '@berth/cloud/store/database';
import { execute } from '@berth/cloud/store/execute';

/** The work that a contender repeats on a separate connection once the gate opens. */
export interface Contest {
  readonly file: string;
  readonly now: number;
  readonly key: string;
  readonly rounds: number;
  /** `report`: all contenders send the same reports. */
  readonly work: 'activate' | 'count' | 'report';
  readonly name: string;
  readonly gate: Int32Array<SharedArrayBuffer>;
}

function commandOf({ key, work, name }: Contest, round: number): Command {
  const proof = { kind: 'key', key } as const;
  const hardwareId = work === 'activate' ? `${name}-${round}` : name;
  const who: Identity = { product: 'cad', hardwareId, licenseId: null, proof };
  if (work === 'activate') return { kind: 'activate', who, host: UNKNOWN_HOST };
  const reportId = work === 'report' ? `report-${round}` : null;
  const narrowing = { allowOverages: null, maxOverages: null };
  return { kind: 'count', who, feature: null, amount: 1, ...narrowing, isSync: false, reportId };
}

function compete(contest: Contest): void {
  const db = openDatabase(contest.file);
  const store = createCloudStore(db);
  if (contest.work !== 'activate') {
    execute(
      store,
      { kind: 'activate', who: commandOf(contest, 0).who, host: UNKNOWN_HOST },
      { customer: null },
      contest.now,
    );
  }
  parentPort?.postMessage('ready');
  Atomics.wait(contest.gate, 0, 0);
  const told = Array.from({ length: contest.rounds }, (_, round) => {
    const { outcome } = execute(store, commandOf(contest, round), { customer: null }, contest.now);
    return outcome.kind === 'refused' ? outcome.code : outcome.kind;
  });
  db.close();
  parentPort?.postMessage(told);
}

compete(workerData as Contest);
