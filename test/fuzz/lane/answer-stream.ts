/** The date, whatever it is. */
const DATE = /^Date: [A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/;

/**
 * Everything that a server has sent, with the headers of each answer in one order and no date. Two servers
 * that send the same are alike for clients.
 */
export function normalizeAnswers(sent: string): string {
  let rest = sent;
  let result = '';
  while (rest !== '') {
    const end = rest.indexOf('\r\n\r\n');
    if (end < 0) return result + rest;
    const [first, ...lines] = rest.slice(0, end).split('\r\n');
    const sorted = lines.map((line) => (DATE.test(line) ? 'Date: …' : line)).sort();
    const length = Number(/\r\nContent-Length: (\d+)/i.exec(rest.slice(0, end))?.[1] ?? 0);
    const next = end + 4 + length;
    result += `${[first, ...sorted].join('\n')}\n\n${rest.slice(end + 4, next)}\n`;
    rest = rest.slice(next);
  }
  return result;
}
