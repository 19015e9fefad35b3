/** A piece of a page that is safe to be sent. Text becomes one by being escaped, and in no other way. */
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

/** A template whose values are escaped, unless they are pages' pieces themselves. */
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
