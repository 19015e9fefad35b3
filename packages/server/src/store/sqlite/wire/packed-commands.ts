import type { AddConsumption, Command, Register, Unregister } from '../../../core/command.ts';
import type { Actor, Visitor } from '../../../core/nouns/actor.ts';

/**
 * The commands of a batch as one flat array of values, each command behind its mark: copying an array to
 * another thread costs a fifth of copying objects. The commands that clients send all the time are taken
 * apart; any other is one value.
 */
export type PackedCommands = readonly unknown[];

const WHOLE = 0;
const REGISTER = 1;
const UNREGISTER = 2;
const ADD_CONSUMPTION = 3;

export function packCommands(commands: Iterable<Command>): PackedCommands {
  const values: unknown[] = [];
  for (const command of commands) packCommand(values, command);
  return values;
}

function packCommand(values: unknown[], command: Command): void {
  switch (command.kind) {
    case 'register': {
      const { product, licenseId, user, host, credential, spelling, perAddress } = command;
      values.push(REGISTER, product, licenseId, user, host.hostname, host.address, host.info);
      packActor(values, command.by);
      values.push(credential, spelling, perAddress);
      break;
    }
    case 'unregister':
      values.push(UNREGISTER, command.product, command.licenseId, command.user);
      packActor(values, command.by);
      values.push(command.credential, command.spelling);
      break;
    case 'add_consumption': {
      const { product, licenseId, user, feature, count, narrowing, idempotency } = command;
      values.push(ADD_CONSUMPTION, product, licenseId, user, feature, count);
      values.push(narrowing.allowOverages, narrowing.maxOverages, idempotency);
      packActor(values, command.by);
      values.push(command.spelling);
      break;
    }
    default:
      values.push(WHOLE, command);
  }
}

function packActor(values: unknown[], by: Actor | undefined): void {
  if (typeof by === 'object') values.push(by.name, by.address);
  else values.push(by, undefined);
}

/** Reads values in the order in which they were packed. */
export class PackedValues {
  readonly #values: readonly unknown[];
  #next = 0;

  constructor(values: readonly unknown[]) {
    this.#values = values;
  }

  get isEmpty(): boolean {
    return this.#next >= this.#values.length;
  }

  /** The caller knows what was packed. */
  take<T>(): T {
    return this.#values[this.#next++] as T;
  }
}

export function unpackCommands(packed: PackedCommands): Command[] {
  const values = new PackedValues(packed);
  const commands: Command[] = [];
  while (!values.isEmpty) commands.push(unpackCommand(values));
  return commands;
}

/** Every field, so that none can be forgotten below. Those that were left out are undefined. */
type Complete<C> = { readonly [K in keyof Required<C>]: C[K] | undefined };

/** The fields are read in the order in which they are written out here, and were packed above. */
function unpackCommand(values: PackedValues): Command {
  switch (values.take<number>()) {
    case REGISTER:
      return {
        kind: 'register',
        product: values.take(),
        licenseId: values.take(),
        user: values.take(),
        host: { hostname: values.take(), address: values.take(), info: values.take() },
        by: unpackActor(values),
        credential: values.take(),
        spelling: values.take(),
        perAddress: values.take(),
      } satisfies Complete<Register> as Command;
    case UNREGISTER:
      return {
        kind: 'unregister',
        product: values.take(),
        licenseId: values.take(),
        user: values.take(),
        by: unpackActor(values),
        credential: values.take(),
        spelling: values.take(),
      } satisfies Complete<Unregister> as Command;
    case ADD_CONSUMPTION:
      return {
        kind: 'add_consumption',
        product: values.take(),
        licenseId: values.take(),
        user: values.take(),
        feature: values.take(),
        count: values.take(),
        narrowing: { allowOverages: values.take(), maxOverages: values.take() },
        idempotency: values.take(),
        by: unpackActor(values),
        spelling: values.take(),
      } satisfies Complete<AddConsumption> as Command;
    default:
      return values.take();
  }
}

function unpackActor(values: PackedValues): Actor | undefined {
  const name = values.take<string>();
  const address = values.take<string | undefined>();
  return address === undefined ? name : ({ name, address } satisfies Visitor);
}
