import { paint, type Style } from '@berth/shell/console/console-text';
import type { CallOf } from '@berth/shell/console/hints';
import { type Finding, splitAdvice } from '../../core/doctor/finding.ts';
import { type Command, defineCommand, type LocalContext } from '../command.ts';

/** Finding out what is wrong. */
export const DOCTOR_COMMANDS: readonly Command[] = [
  defineCommand({
    words: 'doctor',
    about: 'examine the server and its surroundings, and say what to do; fails if there is a problem',
    local: examine,
    show: ({ findings }, callOf) => showFindings(findings, callOf),
    isFailure: ({ findings }) => findings.some(isProblem),
  }),
];

const isProblem = ({ severity }: Finding) => severity === 'problem';

async function examine(context: LocalContext) {
  const findings = await runDoctor(context);
  return { ok: true, body: { healthy: !findings.some(isProblem), findings } } as const;
}

/** A server that does not answer is a finding, too, and its surroundings may show why. */
export async function runDoctor(context: LocalContext): Promise<readonly Finding[]> {
  try {
    return await askServer(context);
  } catch (error) {
    const { text, advice } = splitAdvice(await context.explain(error));
    const what = advice ?? 'See the other findings, and start the server to see what it says.';
    const around = (await context.examineSurroundings()).filter((finding) => finding.text !== text);
    return [{ check: 'server', severity: 'problem', text, advice: what }, ...around];
  }
}

async function askServer({ open }: LocalContext): Promise<readonly Finding[]> {
  const client = await open();
  try {
    const { ok, body } = await client.get('/api/admin/doctor');
    if (ok) return body.findings;
    const { text, advice } = splitAdvice(body.message);
    return [{ check: 'server', severity: 'problem', text, advice: advice ?? 'See the log of the server.' }];
  } finally {
    await client.close();
  }
}

const STYLES: Readonly<Record<Finding['severity'], Style>> = {
  ok: 'green',
  warning: 'yellow',
  problem: 'red',
};

/** The server names commands in one way, and the reader types them in another. */
const HINT = /"berth ([^"]+)"/g;

function showFindings(findings: readonly Finding[], callOf: CallOf): string {
  const width = Math.max(...findings.map(({ check }) => check.length));
  const lines = findings.flatMap(({ check, severity, text, advice }) => {
    const start = `${paint(STYLES[severity], severity.padEnd(7))}  ${check.padEnd(width)}  `;
    const indent = ' '.repeat(7 + 2 + width + 2);
    return [
      `${start}${text}`,
      ...(advice === null ? [] : [`${indent}${advice.replace(HINT, (_, words) => `"${callOf(words)}"`)}`]),
    ];
  });
  return `${lines.join('\n')}\n\n${summarize(findings)}`;
}

function summarize(findings: readonly Finding[]): string {
  const count = (severity: Finding['severity']) => findings.filter((one) => one.severity === severity).length;
  const [problems, warnings] = [count('problem'), count('warning')];
  if (problems + warnings === 0) return 'All is well.';
  return `Problems: ${problems}. Warnings: ${warnings}.`;
}
