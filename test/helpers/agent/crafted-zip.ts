import { crc32, deflateRawSync } from 'node:zlib';

/** A member of an archive that is built byte by byte, so that it can contain wrong or hidden data. */
export interface CraftedMember {
  readonly name: string;
  readonly content: Buffer;
  /** Stored without compression. */
  readonly isStored?: boolean;
  /** Replaces the compressed content. */
  readonly packed?: Buffer;
  /** The content size that the archive declares. */
  readonly saidBytes?: number;
  readonly flags?: number;
  readonly method?: number;
  /** Extra fields of the directory and of the local header, and a comment. */
  readonly extra?: Buffer;
  readonly localExtra?: Buffer;
  readonly comment?: string;
  /** The name in the local header, if it differs from the name in the directory. */
  readonly localName?: string;
  /** Bytes between this member and the next one. */
  readonly gap?: Buffer;
}

/** Builds an archive of these members, in this order, with a comment. */
export function craftedZip(members: readonly CraftedMember[], comment = ''): Buffer {
  const parts: Buffer[] = [];
  const directory: Buffer[] = [];
  let offset = 0;
  for (const member of members) {
    const { content, extra = Buffer.alloc(0), localExtra = Buffer.alloc(0) } = member;
    const method = member.method ?? (member.isStored ? 0 : 8);
    const packed = member.packed ?? (member.isStored ? content : deflateRawSync(content, { level: 1 }));
    const name = Buffer.from(member.name);
    const localName = Buffer.from(member.localName ?? member.name);
    const note = Buffer.from(member.comment ?? '');
    const head = Buffer.alloc(26);
    head.writeUInt16LE(20, 0);
    head.writeUInt16LE(0x800 | (member.flags ?? 0), 2);
    head.writeUInt16LE(method, 4);
    head.writeUInt16LE(0x6c20, 6);
    head.writeUInt16LE(0x5a75, 8);
    head.writeUInt32LE(crc32(content), 10);
    head.writeUInt32LE(packed.length, 14);
    head.writeUInt32LE(member.saidBytes ?? content.length, 18);
    head.writeUInt16LE(localName.length, 22);
    head.writeUInt16LE(localExtra.length, 24);
    const local = [
      Buffer.from('PK\u0003\u0004'),
      head,
      localName,
      localExtra,
      packed,
      member.gap ?? Buffer.alloc(0),
    ];
    parts.push(...local);
    const record = Buffer.alloc(42);
    record.writeUInt16LE(20, 0);
    head.copy(record, 2, 0, 22);
    record.writeUInt16LE(name.length, 24);
    record.writeUInt16LE(extra.length, 26);
    record.writeUInt16LE(note.length, 28);
    record.writeUInt32LE(offset, 38);
    directory.push(Buffer.from('PK\u0001\u0002'), record, name, extra, note);
    offset += local.reduce((sum, { length }) => sum + length, 0);
  }
  const note = Buffer.from(comment);
  const end = Buffer.alloc(18);
  end.writeUInt16LE(members.length, 4);
  end.writeUInt16LE(members.length, 6);
  end.writeUInt32LE(
    directory.reduce((sum, { length }) => sum + length, 0),
    8,
  );
  end.writeUInt32LE(offset, 12);
  end.writeUInt16LE(note.length, 16);
  return Buffer.concat([...parts, ...directory, Buffer.from('PK\u0005\u0006'), end, note]);
}

/** An extra field with a tag that no reader knows. */
export function extraField(data: string): Buffer {
  const field = Buffer.alloc(4);
  field.writeUInt16LE(0xcafe, 0);
  field.writeUInt16LE(Buffer.byteLength(data), 2);
  return Buffer.concat([field, Buffer.from(data)]);
}
