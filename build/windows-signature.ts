/** Where a file for Windows says where its headers are, and what they contain. */
const HEADERS_AT = 0x3c;
const PE = 0x4550;
const PE_PLUS = 0x20b;
const OPTIONAL_HEADER = 24;
const CHECKSUM = 64;
const SIGNATURE_ENTRY = 112 + 4 * 8;

/**
 * Takes the signature of Node's publisher from an executable for Windows. It would be wrong as soon as the
 * program is added, and a wrong signature alarms more than none.
 */
export function removeSignature(executable: Buffer): Buffer {
  const headers = executable.readUInt32LE(HEADERS_AT);
  const optional = headers + OPTIONAL_HEADER;
  if (executable.readUInt32LE(headers) !== PE || executable.readUInt16LE(optional) !== PE_PLUS) {
    throw new Error('This is not an executable for 64-bit Windows.');
  }
  const start = executable.readUInt32LE(optional + SIGNATURE_ENTRY);
  if (start === 0) return executable;
  const unsigned = Buffer.from(executable.subarray(0, start));
  unsigned.writeUInt32LE(0, optional + CHECKSUM);
  unsigned.writeBigUInt64LE(0n, optional + SIGNATURE_ENTRY);
  return unsigned;
}
