/*
 * MD4 (RFC 1320), which OpenSSL 3 no longer offers: NTLM hashes passwords with it. It protects nothing.
 */

const shifts: readonly (readonly number[])[] = [
  [3, 7, 11, 19],
  [3, 5, 9, 13],
  [3, 9, 11, 15],
];
/** The order in which each round takes the words of a block. */
const orders: readonly (readonly number[])[] = [
  [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15],
  [0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15],
  [0, 8, 4, 12, 2, 10, 6, 14, 1, 9, 5, 13, 3, 11, 7, 15],
];
const constants: readonly number[] = [0, 0x5a827999, 0x6ed9eba1];
const mixes: readonly ((x: number, y: number, z: number) => number)[] = [
  (x, y, z) => (x & y) | (~x & z),
  (x, y, z) => (x & y) | (x & z) | (y & z),
  (x, y, z) => x ^ y ^ z,
];
const blockBytes = 64;

/** Returns the 16 bytes of the hash. */
export function md4(data: Uint8Array): Buffer {
  const padded = Buffer.alloc(Math.ceil((data.length + 9) / blockBytes) * blockBytes);
  padded.set(data);
  padded[data.length] = 0x80;
  padded.writeBigUInt64LE(BigInt(data.length) * 8n, padded.length - 8);
  const state = Uint32Array.of(0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476);
  for (let start = 0; start < padded.length; start += blockBytes) addBlock(state, padded, start);
  const hash = Buffer.alloc(16);
  for (const [index, word] of state.entries()) hash.writeUInt32LE(word, index * 4);
  return hash;
}

function addBlock(state: Uint32Array, padded: Buffer, start: number): void {
  let [a = 0, b = 0, c = 0, d = 0] = state;
  for (const [round, order] of orders.entries()) {
    for (const [step, word] of order.entries()) {
      const mixed = mixes[round]?.(b, c, d) ?? 0;
      const sum = (a + mixed + padded.readUInt32LE(start + word * 4) + (constants[round] ?? 0)) >>> 0;
      const shift = shifts[round]?.[step % 4] ?? 0;
      [a, b, c, d] = [d, ((sum << shift) | (sum >>> (32 - shift))) >>> 0, b, c];
    }
  }
  for (const [index, word] of [a, b, c, d].entries()) state[index] = (state[index] ?? 0) + word;
}
