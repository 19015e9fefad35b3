/** HTML that is safe to send. Text can only become HTML by being escaped. */
export interface Html {
  readonly markup: string;
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

function escapeText(text: string): string {
  return text.replace(/[&<>"']/g, (letter) => ENTITIES[letter] as string);
}

type Piece = string | number | Html | readonly Html[];

/** A template that escapes its values, except those that are already HTML. */
export function html(parts: TemplateStringsArray, ...pieces: readonly Piece[]): Html {
  const markup = parts.map((part, index) => part + render(pieces[index] ?? '')).join('');
  return { markup };
}

function render(piece: Piece): string {
  if (typeof piece === 'object') {
    return 'markup' in piece ? piece.markup : piece.map(({ markup }) => markup).join('');
  }
  return escapeText(String(piece));
}
