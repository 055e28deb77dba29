import { BinaryReader } from '@bufbuild/protobuf/wire';

/** A sample of remote write 1.0. */
export interface WrittenSample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
  /** Whether it marks the end of its series (Prometheus' stale NaN). */
  readonly isStale: boolean;
}

const staleBits = 0x7ff0000000000002n;

/** Decodes the samples of a remote write request. */
export function samplesIn(body: Buffer): WrittenSample[] {
  const reader = new BinaryReader(snappyDecompress(body));
  const samples: WrittenSample[] = [];
  while (reader.pos < reader.len) {
    reader.tag();
    samples.push(seriesIn(reader.bytes()));
  }
  return samples;
}

function seriesIn(bytes: Uint8Array): WrittenSample {
  const reader = new BinaryReader(bytes);
  const labels: Record<string, string> = {};
  let bits = 0n;
  while (reader.pos < reader.len) {
    const [field] = reader.tag();
    const part = new BinaryReader(reader.bytes());
    part.tag();
    if (field === 1) {
      const name = part.string();
      part.tag();
      labels[name] = part.string();
    } else bits = BigInt(part.fixed64());
  }
  const value = new DataView(new BigUint64Array([bits]).buffer).getFloat64(0, true);
  const { __name__: name = '', ...others } = labels;
  return { name, labels: others, value, isStale: bits === staleBits };
}

/** Decodes the Snappy block format, byte by byte as its description says. */
export function snappyDecompress(input: Buffer): Buffer {
  let at = 0;
  let length = 0;
  for (let shift = 0; ; shift += 7) {
    const byte = input.readUInt8(at++);
    length |= (byte & 0x7f) << shift;
    if (byte < 0x80) break;
  }
  const output: number[] = [];
  while (at < input.length) {
    const tag = input.readUInt8(at++);
    if ((tag & 3) === 0) {
      const short = tag >> 2;
      const more = short < 60 ? 0 : short - 59;
      const size = (more === 0 ? short : input.readUIntLE(at, more)) + 1;
      at += more;
      output.push(...input.subarray(at, at + size));
      at += size;
    } else {
      if ((tag & 3) !== 2) throw new Error(`a tag of kind ${tag & 3}`);
      const offset = input.readUInt16LE(at);
      at += 2;
      if (offset < 1 || offset > output.length) throw new Error(`an offset of ${offset}`);
      for (let left = (tag >> 2) + 1; left > 0; left -= 1)
        output.push(output[output.length - offset] as number);
    }
  }
  if (output.length !== length) throw new Error(`${output.length} bytes in place of ${length}`);
  return Buffer.from(output);
}
