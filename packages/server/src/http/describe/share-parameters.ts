import type { Described, Operation } from './openapi-schemas.ts';

type Paths = Readonly<Record<string, Readonly<Record<string, Operation>>>>;

/** Moves parameters that occur more than once to `named`. All others stay where they are. */
export function shareParameters(paths: Paths, named: Record<string, Described>): Paths {
  const operations = Object.values(paths).flatMap((item) => Object.values(item));
  const all = operations.flatMap(({ parameters = [] }) => parameters).map((one) => JSON.stringify(one));
  const names = new Map<string, string>();
  for (const [index, text] of all.entries()) {
    const parameter = JSON.parse(text) as Described;
    if (parameter.$ref !== undefined || names.has(text) || all.indexOf(text, index + 1) === -1) continue;
    const name = findFree(pascal(String(parameter.name)), named);
    named[name] = parameter;
    names.set(text, name);
  }
  const share = (parameter: Described): Described => {
    const name = names.get(JSON.stringify(parameter));
    return name === undefined ? parameter : { $ref: `#/components/parameters/${name}` };
  };
  return mapValues(paths, (item) =>
    mapValues(item, ({ parameters, ...operation }) =>
      parameters === undefined ? operation : { ...operation, parameters: parameters.map(share) },
    ),
  );
}

/** Several parameters may have the same name, and mean different things. */
function findFree(name: string, named: Readonly<Record<string, unknown>>): string {
  for (let number = 1; ; number++) {
    const free = number === 1 ? name : `${name}${number}`;
    if (!(free in named)) return free;
  }
}

function mapValues<T, U>(of: Readonly<Record<string, T>>, map: (value: T) => U): Record<string, U> {
  return Object.fromEntries(Object.entries(of).map(([key, value]) => [key, map(value)]));
}

/** `license_id`, `licenseId` and `License-Id` as a type name. */
export function pascal(name: string): string {
  return name.replace(/(?:^|[_-])([A-Za-z])/g, (_, letter: string) => letter.toUpperCase());
}
