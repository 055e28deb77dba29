/** Matches are searched within a block of this size, because offsets have two bytes. */
const blockBytes = 65_536;
const hashBits = 14;
const shortestMatch = 4;
const longestCopy = 64;

/**
 * The block format of Snappy (github.com/google/snappy, format_description.txt): the length, then literal bytes and
 * copies of earlier bytes.
 */
export function snappyCompress(input: Uint8Array): Buffer {
  const writer = new Elements(input);
  const bytes = new DataView(input.buffer, input.byteOffset, input.byteLength);
  const table = new Uint16Array(1 << hashBits);
  for (let start = 0; start < input.length; start += blockBytes) {
    const end = Math.min(input.length, start + blockBytes);
    table.fill(0);
    let pending = start;
    let at = start + 1;
    while (at + shortestMatch <= end) {
      const word = bytes.getUint32(at, true);
      const slot = Math.imul(word, 0x9e3779b1) >>> (32 - hashBits);
      const candidate = start + (table[slot] ?? 0);
      table[slot] = at - start;
      if (candidate >= at || bytes.getUint32(candidate, true) !== word) {
        // The longer no match was found, the larger the steps: bytes without repetition cost little.
        at += 1 + ((at - pending) >> 5);
        continue;
      }
      let length = shortestMatch;
      while (at + length < end && input[candidate + length] === input[at + length]) length += 1;
      writer.literal(pending, at);
      writer.copy(at - candidate, length);
      at += length;
      pending = at;
    }
    writer.literal(pending, end);
  }
  return writer.end();
}

class Elements {
  readonly #input: Uint8Array;
  readonly #output: Buffer;
  #size = 0;

  constructor(input: Uint8Array) {
    this.#input = input;
    // A literal has at most three bytes of overhead; a copy is never longer than the bytes it replaces.
    this.#output = Buffer.allocUnsafe(16 + input.length + Math.ceil(input.length / 16));
    let left = input.length;
    while (left >= 0x80) {
      this.#output[this.#size++] = (left & 0x7f) | 0x80;
      left >>>= 7;
    }
    this.#output[this.#size++] = left;
  }

  literal(from: number, to: number): void {
    const last = to - from - 1;
    if (last < 0) return;
    if (last < 60) this.#output[this.#size++] = last << 2;
    else if (last < 0x100) {
      this.#output[this.#size++] = 60 << 2;
      this.#output[this.#size++] = last;
    } else {
      this.#output[this.#size++] = 61 << 2;
      this.#size = this.#output.writeUInt16LE(last, this.#size);
    }
    this.#output.set(this.#input.subarray(from, to), this.#size);
    this.#size += to - from;
  }

  copy(offset: number, length: number): void {
    for (let left = length; left > 0; left -= longestCopy) {
      this.#output[this.#size++] = ((Math.min(left, longestCopy) - 1) << 2) | 2;
      this.#size = this.#output.writeUInt16LE(offset, this.#size);
    }
  }

  end(): Buffer {
    // A copy, so that the oversized buffer can be freed.
    return Buffer.from(this.#output.subarray(0, this.#size));
  }
}
