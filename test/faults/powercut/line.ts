import { Agent, request } from 'node:http';
import type { Facts } from '../../support/berth-api.ts';
import type { AnswerPlace } from './book.ts';

interface Reply {
  readonly status: number;
  readonly body: Facts;
  readonly place: AnswerPlace;
}

interface Message {
  readonly path: string;
  /** `null`: it is a GET. */
  readonly body: Facts | null;
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

/** How many answers each port got, of each server. Ports are used again. */
const numbers = new Map<string, number>();

/** One connection to a server. The record knows an answer by its port and number. */
export class Line {
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 1 });
  readonly #url: string;
  readonly #process: number;

  constructor(url: string, process = 0) {
    this.#url = url;
    this.#process = process;
  }

  close(): void {
    this.#agent.destroy();
  }

  get = async (path: string): Promise<Facts> => {
    const { status, body } = await this.send({ path, body: null });
    if (status !== 200) throw new Error(`${path} is answered with ${status}: ${JSON.stringify(body)}`);
    return body;
  };

  send({ path, body, headers = {} }: Message): Promise<Reply> {
    return new Promise((resolve, reject) => {
      const type = body === null ? {} : { 'content-type': 'application/json' };
      const options = {
        method: body === null ? 'GET' : 'POST',
        agent: this.#agent,
        headers: { ...type, ...headers },
      };
      const outgoing = request(`${this.#url}${path}`, options, (incoming) => {
        const place = this.#note(incoming.socket.localPort ?? 0);
        let text = '';
        incoming.setEncoding('utf8').on('data', (chunk: string) => {
          text += chunk;
        });
        incoming.on('error', reject);
        incoming.on('end', () => resolve({ status: incoming.statusCode ?? 0, body: parse(text), place }));
      });
      outgoing.on('error', reject);
      outgoing.end(body === null ? undefined : JSON.stringify(body));
    });
  }

  #note(port: number): AnswerPlace {
    const key = `${this.#process}:${port}`;
    const number = (numbers.get(key) ?? 0) + 1;
    numbers.set(key, number);
    return { process: this.#process, port, number };
  }
}

/** An answer that is not JSON has no facts. */
function parse(text: string): Facts {
  return text.startsWith('{') ? JSON.parse(text) : {};
}
