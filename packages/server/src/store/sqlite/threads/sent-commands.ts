import type { Command, Register } from '../../../core/command.ts';

/** A command as it crosses to the writer. */
export type SentCommand = SentRegister | Command;

type SentRegister = ReturnType<typeof packRegister>;

/** Values without names: most commands are heartbeats, and names are half of their JSON. Not for dry runs. */
function packRegister(command: Register) {
  const { product, licenseId, user, host, by, credential, spelling, spent, instance, wait } = command;
  const { hostname, address, info } = host;
  const asker = [by, credential, spelling, spent, instance, ...(wait === undefined ? [] : [wait])] as const;
  return [product, licenseId, user, hostname, address, info, ...asker] as const;
}

export function packCommand(command: Command): SentCommand {
  return command.kind === 'register' && !command.isDryRun ? packRegister(command) : command;
}

/** Every field, so that none can be forgotten below. */
type Complete<C> = { readonly [K in keyof Required<C>]: C[K] | undefined };

export function unpackCommand(sent: SentCommand): Command {
  if ('kind' in sent) return sent;
  const [product, licenseId, user, hostname, address, info, ...asker] = sent;
  const [by, credential, spelling, spent, instance, wait] = asker;
  return {
    kind: 'register',
    product,
    licenseId,
    user,
    host: { hostname, address, info },
    // In an array, JSON writes `null` for what was left out.
    by: by ?? undefined,
    credential: credential ?? undefined,
    spelling: spelling ?? undefined,
    spent: spent ?? undefined,
    instance: instance ?? undefined,
    wait,
  } satisfies Complete<Omit<Register, 'isDryRun'>> as Register;
}
