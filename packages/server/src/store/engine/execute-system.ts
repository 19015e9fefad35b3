import { systemModuleOf } from '../../core/decide-system.ts';
import type { SystemCommand } from '../../core/system-command.ts';
import type { Executed } from '../store.ts';
import { applySystemChange } from './apply/apply-system.ts';
import { eventText } from './audit/audit-chain.ts';
import type { Batch, Undo } from './batch.ts';
import { loadSystemFacts } from './load/load-system-facts.ts';
import { rememberEntry } from './loaded-licenses.ts';

export function executeSystem(batch: Batch, command: SystemCommand, undo: Undo[]): Executed {
  const module = systemModuleOf(command);
  batch.savepoint.set();
  undo.push(rememberSystem(batch));
  if (module.scope === 'all') rememberAll(batch, undo);
  const facts = loadSystemFacts(batch, module.needs(command));
  const { outcome, changes, events } = module.decide(command, facts, batch.now);
  for (const change of changes) applySystemChange(batch, change);
  for (const event of events) batch.systemEvents.push(eventText(event));
  if (changes.length > 0 || events.length > 0) batch.isChanged = true;
  return outcome;
}

/** What a command on the server itself may leave in memory. */
function rememberSystem(batch: Batch): Undo {
  const { masterKey, rules, signed } = batch;
  const eventCount = batch.systemEvents.length;
  return () => {
    Object.assign(batch, { masterKey, rules, signed });
    batch.systemEvents.length = eventCount;
  };
}

/** A command on all licenses may also move the time. */
function rememberAll(batch: Batch, undo: Undo[]): void {
  const { now, isChanged, clampsHistory } = batch;
  for (const entry of batch.licenses.entries()) undo.push(rememberEntry(batch.licenses, entry));
  undo.push(() => Object.assign(batch, { now, isChanged, clampsHistory }));
}
