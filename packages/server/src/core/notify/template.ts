import type { Message } from './message.ts';

/** What a template can name. */
const PLACEHOLDERS = ['title', 'text', 'severity', 'id', 'server'] as const;

type Values = Readonly<Record<(typeof PLACEHOLDERS)[number], string>>;

const PLACEHOLDER = /\{\{ ?(\w{1,20}) ?\}\}/g;
const MAX_DEPTH = 20;

/** What is wrong with a template, in a sentence; `null`: nothing. */
export function explainTemplate(template: string): string | null {
  const parsed = parse(template);
  if (parsed === undefined) return 'The template must be JSON, with placeholders inside its texts.';
  if (depthOf(parsed) > MAX_DEPTH) return 'The template is nested too deeply.';
  const names = [...template.matchAll(PLACEHOLDER)].map(([, name]) => name as string);
  const unknown = names.find((name) => !(PLACEHOLDERS as readonly string[]).includes(name));
  const allowed = PLACEHOLDERS.map((name) => `{{${name}}}`).join(', ');
  if (unknown !== undefined) return `The template names {{${unknown}}}. It can name ${allowed}.`;
  return names.length === 0 ? `The template names nothing of the message. It can name ${allowed}.` : null;
}

/**
 * Fills in the texts of the parsed template and writes JSON anew. So whatever a message says stays inside its
 * text, and a template can do nothing but name values.
 */
export function fillTemplate(template: string, { title, lines, severity, id }: Message, server: string) {
  return JSON.stringify(fill(parse(template), { title, text: lines.join('\n'), severity, id, server }));
}

function parse(template: string): unknown {
  try {
    return JSON.parse(template);
  } catch {
    return undefined;
  }
}

function depthOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  return 1 + Math.max(0, ...Object.values(value).map(depthOf));
}

function fill(value: unknown, values: Values): unknown {
  if (typeof value === 'string') {
    return value.replace(PLACEHOLDER, (all, name: string) =>
      Object.hasOwn(values, name) ? values[name as keyof Values] : all,
    );
  }
  if (Array.isArray(value)) return value.map((item) => fill(item, values));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, fill(item, values)]));
}
