import type { Activate, Check, Deactivate } from './command.ts';
import { type Decision, justAnswer, type Licensed, type View } from './decision.ts';
import { type Device, type HostFacts, nameOf, say } from './license.ts';
import { type Refusal, refuse } from './refusal.ts';
import {
  refuseBlocked,
  refuseDisabled,
  refuseExpired,
  refuseInactive,
  refuseNoDevice,
} from './refuse-by-state.ts';

/**
 * Activates the license on a machine. The same machine counts only once; the details it sends replace the
 * stored ones, and details it does not send stay unchanged.
 */
export function decideActivate({ who, host }: Activate, view: View, now: number): Decision {
  const { license, device, isBlocked } = view;
  const { hardwareId } = who;
  const refusal =
    refuseDisabled(license) ??
    refuseExpired(license, now) ??
    refuseBlocked(isBlocked, hardwareId) ??
    refuseFull(view);
  if (refusal !== null) return justAnswer(refusal);
  return device === null ? add(view, hardwareId, host) : refresh(view, device, host);
}

function add(view: View, hardwareId: string, host: HostFacts): Decision {
  const { nextDeviceId: id } = view;
  const license = { ...view.license, isActive: true };
  return {
    outcome: licensed({ ...view, license, deviceCount: view.deviceCount + 1 }, hardwareId, id),
    changes: [{ kind: 'add_device', id, hardwareId, host }, { kind: 'set_active' }],
    events: [{ kind: 'device_activated', facts: describeHost(hardwareId, host) }],
  };
}

function refresh(view: View, { id, hardwareId, host: known }: Device, reported: HostFacts): Decision {
  const host = { ...known, ...withoutNulls(reported) };
  return {
    outcome: licensed(view, hardwareId, id),
    changes: [{ kind: 'refresh_device', hardwareId, host }],
    events: [{ kind: 'device_refreshed', facts: describeHost(hardwareId, host) }],
  };
}

function withoutNulls(host: HostFacts): Partial<HostFacts> {
  return Object.fromEntries(Object.entries(host).filter(([, value]) => value !== null));
}

function describeHost(hardwareId: string, { hostname, ip }: HostFacts) {
  return { hardware_id: hardwareId, hostname, ip };
}

/** A license may be activated before it starts. */
function refuseFull({ license, device, deviceCount }: View): Refusal | null {
  const most = license.terms.maxActivations;
  if (device !== null || most === null || deviceCount < most) return null;
  const message = `The license ${nameOf(license)} is activated on ${deviceCount} of ${most} machines.`;
  const facts = { max_activations: most, times_activated: deviceCount };
  return refuse('license_activated_max_times', message, facts);
}

function licensed({ license, deviceCount, totals }: View, hardwareId: string, deviceId: number): Licensed {
  return { kind: 'licensed', license, hardwareId, deviceId, deviceCount, totals };
}

export function decideCheck({ who }: Check, view: View, now: number): Decision {
  const { license, device, isBlocked } = view;
  const { hardwareId } = who;
  const refusal = refuseDisabled(license) ?? refuseInactive(license) ?? refuseExpired(license, now);
  if (refusal !== null) return justAnswer(refusal);
  if (device === null) return justAnswer(refuseNoDevice(license, hardwareId));
  const barred = refuseBlocked(isBlocked, hardwareId);
  if (barred !== null) return justAnswer(barred);
  const outcome = licensed(view, hardwareId, device.id);
  return { outcome, changes: [{ kind: 'see_device', hardwareId }], events: [] };
}

/** A certificate cannot be revoked, so the vendor wants to know how long it is still good. */
function describeCertified({ certifiedUntil }: Device) {
  return certifiedUntil === null ? {} : { certified_until: say(certifiedUntil) };
}

/** Always allowed on a machine that has the license. */
export function decideDeactivate({ who }: Deactivate, { license, device }: View): Decision {
  const { hardwareId } = who;
  if (device === null) return justAnswer(refuseNoDevice(license, hardwareId));
  return {
    outcome: { kind: 'deactivated' },
    changes: [
      { kind: 'remove_device', hardwareId },
      { kind: 'set_transfer_count', transferCount: license.transferCount + 1 },
    ],
    events: [
      { kind: 'device_deactivated', facts: { hardware_id: hardwareId, ...describeCertified(device) } },
    ],
  };
}
