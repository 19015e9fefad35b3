import type { Fault } from './door/fault.ts';
import { PROMISES } from './door/promises.ts';
import { FAULTS } from './faults.ts';
import { PLANTED_BUGS } from './planted/bugs.ts';

/** Which faults try to break which promise, and whether it is known that they would notice. */
export function writeMatrix(): readonly string[] {
  const rows = Object.entries(PROMISES).map(([number, promise]) => {
    const those = FAULTS.filter(({ promises }) => promises.map(String).includes(number));
    return `| ${number}. ${promise} | ${those.map(mark).join(', ')} |`;
  });
  const others = FAULTS.filter((fault) => fault.promises.length === 0 && fault.name !== 'planted');
  const untried = FAULTS.filter((fault) => !hasControl(fault) && !hasBug(fault) && fault.name !== 'planted');
  return [
    '| promise | tried by |',
    '|---|---|',
    ...rows,
    `| something else | ${others.map(mark).join(', ')} |`,
    '',
    'c: has a control, which is damage that it must find; b: must find a bug that is planted in the',
    `program. These ${untried.length} of ${FAULTS.length - 1} have neither: ${untried.map(mark).join(', ')}.`,
  ];
}

function mark(fault: Fault): string {
  const marks = [hasControl(fault) && 'c', hasBug(fault) && 'b'].filter(Boolean);
  return `\`${fault.name}\`${marks.length === 0 ? '' : ` (${marks.join(', ')})`}`;
}

function hasControl({ controls = [] }: Fault): boolean {
  return controls.length > 0;
}

function hasBug({ name }: Fault): boolean {
  return PLANTED_BUGS.some(({ foundBy }) => foundBy === name);
}
