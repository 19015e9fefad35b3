import { CLOCK_API } from '@berth/protocol/admin/clock';
import type { Oversight } from '../../../services/lending/oversight.ts';
import { adminRoutes } from '../../admin-route.ts';
import { toWire } from '../../reply/to-wire.ts';
import type { Route } from '../../route.ts';

export function clockRoutes(oversight: Oversight): readonly Route[] {
  return adminRoutes(CLOCK_API, {
    'GET /api/admin/clock': {
      name: 'admin_clock',
      access: 'viewer',
      summary: "The server's time and the wall clock",
      handle: async (_, send) => send(presentClock(await oversight.readClock())),
    },
    'POST /api/admin/clock/accept': {
      name: 'admin_clock_accept',
      access: 'admin',
      summary: 'Accept a wall clock that is ahead; live slots get a new timeout',
      errors: ['clock_not_ahead'],
      handle: async ({ caller }, send) => {
        const outcome = await oversight.acceptClock(caller.actor);
        if (outcome.kind === 'refused') return outcome;
        return send(presentClock(await oversight.readClock()));
      },
    },
    'POST /api/admin/clock/reset': {
      name: 'admin_clock_reset',
      access: 'admin',
      summary: 'Return to the wall clock after it was wrong, and restore borrows that this ended',
      errors: ['clock_not_poisoned', 'borrows_not_restorable'],
      handle: async ({ body, caller }, send) => {
        const mode = body.dry_run === true ? 'trial' : body.accept_losses === true ? 'forced' : 'careful';
        const outcome = await oversight.resetClock(mode, caller.actor);
        if (outcome.kind === 'refused') return outcome;
        const { restored, lost } = outcome.kind === 'clock_reset' ? outcome : { restored: [], lost: [] };
        return send({ ...presentClock(await oversight.readClock()), ...toWire({ restored, lost }) });
      },
    },
  });
}

export function presentClock({ now, wall, jump, jumpAtStart }: Awaited<ReturnType<Oversight['readClock']>>) {
  const rest = jumpAtStart === null ? null : { from: jumpAtStart.serverAt, to: jumpAtStart.wallAt };
  return toWire({ serverAt: now, wallAt: wall, aheadMs: now - wall, jump, jumpAtStart: rest });
}
