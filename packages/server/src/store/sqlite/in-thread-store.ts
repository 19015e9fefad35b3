import type { Command } from '../../core/command.ts';
import { Fault } from '../../core/nouns/fault.ts';
import type { StoreNotice } from '../../core/nouns/store-notice.ts';
import type { Clock } from '../clock.ts';
import type { Answer, Query } from '../query.ts';
import type { ClockStatus, Store } from '../store.ts';
import { StoreTally } from '../store-tally.ts';
import { TurnSignal } from '../turn-signal.ts';
import { SqliteReader } from './read/reader.ts';
import { storeFault, type ThreadData } from './threads/thread-messages.ts';
import { GroupCommit } from './write/group-commit.ts';
import { SqliteWriter } from './write/writer.ts';

interface InThreadOptions extends ThreadData {
  readonly clock: Clock;
  readonly onNotice: (notice: StoreNotice) => void;
  readonly resumeAtOpen?: boolean;
}

/** The same writer and reader without threads, for commands on a stopped server's data and for tests. */
export function openInThreadStore(options: InThreadOptions): Store {
  const { file, onNotice } = options;
  const writer = new SqliteWriter(options);
  const reader = new SqliteReader({ file });
  const tell = (notices: readonly StoreNotice[]) => notices.forEach(onNotice);
  const tally = new StoreTally();
  const turns = new TurnSignal();
  let isHealthy = true;

  function execute(commands: readonly Command[]): void {
    try {
      const { results, syncMs, notices, turns: told } = writer.executeBatch(commands);
      isHealthy = true;
      tell(notices);
      queue.settle(results, syncMs);
      turns.tell(told);
    } catch (error) {
      isHealthy = false;
      onNotice({ kind: 'commit_failed', error: String(error) });
      queue.fail(toFault(error));
    }
  }

  function keepClock(): ClockStatus {
    try {
      const { notices, ...status } = writer.keepClock();
      isHealthy = true;
      tell(notices);
      return status;
    } catch (error) {
      isHealthy = false;
      throw toFault(error);
    }
  }

  const queue = new GroupCommit(execute, tally);
  return {
    execute: (command) => queue.submit(command),
    read: async <Q extends Query>(query: Q): Promise<Answer<Q>> =>
      reader.answer(query, writer.peekNow(), writer.masterKeys),
    keepClock: async () => keepClock(),
    isHealthy: () => isHealthy,
    isLeader: () => true,
    listWaiting: async (products) => writer.listWaiting(products),
    tally,
    turns,
    listPools: () => [],
    async close() {
      await queue.drain();
      reader.close();
      writer.close();
    },
  };
}

/** Faults name the data folder: whoever opens a stopped server's data may know it. */
function toFault(error: unknown): Fault {
  return error instanceof Fault ? error : storeFault(error);
}
