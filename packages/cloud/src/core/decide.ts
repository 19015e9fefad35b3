import type { Command } from './command.ts';
import { decideCount } from './decide-count.ts';
import { decideActivate, decideCheck, decideDeactivate } from './decide-device.ts';
import type { Decision, View } from './decision.ts';

/** Computes the reply, the writes and the events from the command, the facts and the time. */
export function decide(command: Command, view: View, now: number): Decision {
  switch (command.kind) {
    case 'activate':
      return decideActivate(command, view, now);
    case 'check':
      return decideCheck(command, view, now);
    case 'deactivate':
      return decideDeactivate(command, view);
    case 'count':
      return decideCount(command, view, now);
  }
}
