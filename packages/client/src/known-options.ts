import { BerthError } from './errors.ts';

/** All names of options: the compiler notices one that is missing. @internal */
export type OptionNames<Options> = Readonly<Record<keyof Options, true>>;

/** Without types, a misspelt option would be as good as none. @internal */
export function refuseUnknown(of: string, options: object, names: OptionNames<object>): void {
  const unknown = Object.keys(options).find((name) => !Object.hasOwn(names, name));
  if (unknown === undefined) return;
  const known = Object.keys(names);
  // Most mistakes are in the middle or at the end, or of capital letters.
  const begins = (length: number) =>
    known.find((name) => name.slice(0, length).toLowerCase() === unknown.slice(0, length).toLowerCase());
  const meant = begins(unknown.length) ?? begins(5) ?? begins(2);
  const advice = meant === undefined ? `The options are ${known.join(', ')}.` : `Did you mean "${meant}"?`;
  throw new BerthError('invalid_option', `${of} has no option "${unknown}".`, advice);
}
