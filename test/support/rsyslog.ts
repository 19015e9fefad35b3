import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { canConnect } from './can-connect.ts';
import { pollUntil } from './poll.ts';

interface Life {
  after(end: () => unknown): void;
}

/** The syslog server of most Linux distributions, which writes the text of each message into a file. */
export class Rsyslog {
  readonly port: number;
  readonly #folder: string;
  readonly #file: string;
  #end: () => Promise<void> = async () => {};

  constructor(life: Life, folder: string, port: number) {
    this.port = port;
    this.#folder = folder;
    this.#file = join(folder, 'messages');
    life.after(() => this.stop());
  }

  async start(): Promise<void> {
    const settings = join(this.#folder, 'rsyslog.conf');
    writeFileSync(
      settings,
      `global(workDirectory="${this.#folder}" maxMessageSize="64k")
       module(load="imtcp")
       input(type="imtcp" address="127.0.0.1" port="${this.port}")
       template(name="text" type="string" string="%app-name% %msgid% %msg%\\n")
       action(type="omfile" file="${this.#file}" template="text")`,
    );
    const child = spawn('rsyslogd', ['-n', '-f', settings, '-i', join(this.#folder, 'rsyslog.pid')], {
      stdio: 'ignore',
    });
    const ended = once(child, 'exit');
    this.#end = async () => {
      child.kill('SIGTERM');
      await ended;
    };
    await pollUntil('rsyslogd', () => canConnect(this.port));
  }

  async stop(): Promise<void> {
    await this.#end();
    this.#end = async () => {};
  }

  /** What it got, in its order: the events, without those that came again. */
  list(): readonly { readonly id: string; readonly kind: string; readonly user?: string }[] {
    const text = existsSync(this.#file) ? readFileSync(this.#file, 'utf8') : '';
    const lines = text.split('\n').filter((line) => line.startsWith('berth '));
    const events = lines.map((line) => JSON.parse(line.slice(line.indexOf('{'))));
    return [...new Map(events.map((event) => [event.id, event])).values()];
  }
}
