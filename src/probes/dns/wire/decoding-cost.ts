const headerBytes = 12;
const questionTailBytes = 4;
const recordHeadBytes = 10;

/** Position of names in the data of a record, by record type: bytes before the first name, and the number of names. */
const namesInData: Readonly<Record<number, { readonly skipBytes: number; readonly count: number }>> = {
  2: { skipBytes: 0, count: 1 },
  5: { skipBytes: 0, count: 1 },
  6: { skipBytes: 0, count: 2 },
  12: { skipBytes: 0, count: 1 },
  15: { skipBytes: 2, count: 1 },
  17: { skipBytes: 0, count: 2 },
  33: { skipBytes: 6, count: 1 },
  39: { skipBytes: 0, count: 1 },
};

/**
 * Counts the labels and pointers that a decoder must follow for all names of a message, without decoding them. A
 * pointer of two bytes can stand for a name of 127 labels (RFC 1035 section 4.1.4), so a message of 64 KiB may cost a
 * hundred times what it should.
 *
 * @param limit counting stops there.
 * @returns the count, up to the point where the message becomes invalid.
 */
export function decodingSteps(bytes: Buffer, limit: number): number {
  if (bytes.length < headerBytes) return 0;
  const count = { steps: 0 };
  let offset = headerBytes;
  for (let left = bytes.readUInt16BE(4); left > 0 && offset < bytes.length; left -= 1) {
    offset = afterName(bytes, offset, limit, count) + questionTailBytes;
    if (count.steps >= limit) return count.steps;
  }
  const recordCount = bytes.readUInt16BE(6) + bytes.readUInt16BE(8) + bytes.readUInt16BE(10);
  for (let left = recordCount; left > 0 && offset < bytes.length; left -= 1) {
    const head = afterName(bytes, offset, limit, count);
    const data = head + recordHeadBytes;
    if (data > bytes.length) break;
    const names = namesInData[bytes.readUInt16BE(head)];
    let inData = data + (names?.skipBytes ?? 0);
    for (let name = 0; names && name < names.count; name += 1) {
      inData = afterName(bytes, inData, limit, count);
    }
    if (count.steps >= limit) break;
    offset = data + bytes.readUInt16BE(data - 2);
  }
  return count.steps;
}

/** Skips a name and everything it points to; returns the offset after the name itself. */
function afterName(bytes: Buffer, start: number, limit: number, count: { steps: number }): number {
  let offset = start;
  let after: number | undefined;
  while (offset < bytes.length && count.steps < limit) {
    count.steps += 1;
    const length = bytes.readUInt8(offset);
    if (length === 0) return after ?? offset + 1;
    if (length < 0xc0) {
      offset += 1 + length;
      continue;
    }
    if (offset + 1 >= bytes.length) break;
    after ??= offset + 2;
    offset = bytes.readUInt16BE(offset) & 0x3fff;
  }
  return after ?? bytes.length;
}
