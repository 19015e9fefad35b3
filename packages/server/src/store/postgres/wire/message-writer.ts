/** Room for the messages of several round trips. */
const BLOCK_BYTES = 64 * 1024;

/** Version 3.0 of the protocol. */
const PROTOCOL = 0x30000;

/** A character is at most so many bytes long. */
const CHARACTER_BYTES = 3;

/** Encodes messages to the database, one after the other, until they are taken to be sent. */
export class MessageWriter {
  #block = Buffer.allocUnsafeSlow(BLOCK_BYTES);
  /** Where what was not taken begins and ends. */
  #start = 0;
  #end = 0;

  /** Starts the session. This message has no type. */
  start(parameters: Readonly<Record<string, string>>): void {
    this.#int32(0);
    const start = this.#end - this.#start;
    this.#int32(PROTOCOL);
    for (const text of Object.entries(parameters).flat()) this.#text(text);
    this.#text('');
    this.#close(start);
  }

  /** Answers a question about the password. */
  logIn(answer: string): void {
    const password = this.#open('p');
    this.#characters(answer);
    this.#close(password);
  }

  /** Has the database parse a statement, and say what its rows look like. */
  parse(name: string, text: string): void {
    const parse = this.#open('P');
    this.#text(name);
    this.#text(text);
    this.#int16(0);
    this.#close(parse);
    const describe = this.#open('D');
    this.#byte('S');
    this.#text(name);
    this.#close(describe);
  }

  /** Runs a parsed statement. Everything travels as text. */
  run(name: string, values: readonly (string | null)[]): void {
    const bind = this.#open('B');
    this.#text('');
    this.#text(name);
    this.#int16(0);
    this.#int16(values.length);
    for (const value of values) this.#value(value);
    this.#int16(0);
    this.#close(bind);
    const execute = this.#open('E');
    this.#text('');
    this.#int32(0);
    this.#close(execute);
  }

  /** Has the database answer. Until here, it skips everything after an error. */
  sync(): void {
    this.#close(this.#open('S'));
  }

  /** Runs a text that may hold several statements. */
  runAll(text: string): void {
    const query = this.#open('Q');
    this.#text(text);
    this.#close(query);
  }

  get isEmpty(): boolean {
    return this.#start === this.#end;
  }

  /** What was written since the last time. */
  take(): Uint8Array {
    const taken = this.#block.subarray(this.#start, this.#end);
    this.#start = this.#end;
    return taken;
  }

  #open(type: string): number {
    this.#byte(type);
    this.#int32(0);
    return this.#end - this.#start;
  }

  /** The length counts itself, but not the type. */
  #close(opened: number): void {
    const at = this.#start + opened - 4;
    this.#block.writeInt32BE(this.#end - at, at);
  }

  #value(value: string | null): void {
    if (value === null) {
      this.#int32(-1);
      return;
    }
    this.#int32(0);
    const length = this.#characters(value);
    this.#block.writeInt32BE(length, this.#end - length - 4);
  }

  #text(text: string): void {
    this.#characters(text);
    this.#reserve(1);
    this.#block[this.#end++] = 0;
  }

  #characters(text: string): number {
    this.#reserve(text.length * CHARACTER_BYTES);
    const length = this.#block.write(text, this.#end, 'utf8');
    this.#end += length;
    return length;
  }

  #byte(character: string): void {
    this.#reserve(1);
    this.#block[this.#end++] = character.charCodeAt(0);
  }

  #int16(value: number): void {
    this.#reserve(2);
    this.#end = this.#block.writeUInt16BE(value, this.#end);
  }

  #int32(value: number): void {
    this.#reserve(4);
    this.#end = this.#block.writeInt32BE(value, this.#end);
  }

  /** What was taken may still be on its way to the socket, so it is never written over. */
  #reserve(bytes: number): void {
    if (this.#end + bytes <= this.#block.length) return;
    const kept = this.#block.subarray(this.#start, this.#end);
    this.#block = Buffer.allocUnsafeSlow(Math.max(BLOCK_BYTES, 2 * (kept.length + bytes)));
    kept.copy(this.#block);
    [this.#start, this.#end] = [0, kept.length];
  }
}
