/** A ticket of a cache. */
export interface Ticket {
  /** Such as `HTTP/intranet.example.com`, without the realm. */
  readonly server: string;
  /** When it ends, in epoch milliseconds. */
  readonly endsAtMs: number;
  /** As the file has it. */
  readonly bytes: Buffer;
}

/** The content of a ticket cache. */
export interface TicketFile {
  /** Everything before the tickets: version, header, and the principal whose tickets they are. */
  readonly beginning: Buffer;
  readonly tickets: readonly Ticket[];
}

/** Versions of the format that have one order of bytes: the highest first. */
const versions: ReadonlySet<number> = new Set([0x0503, 0x0504]);
const withHeader = 0x0504;

/**
 * Reads a ticket cache of MIT Kerberos ("Credential cache file format" in its documentation).
 *
 * @throws Error for another format, or for a file that ends too early.
 */
export function readTicketFile(file: Buffer): TicketFile {
  let at = 0;
  const take = (sizeBytes: number): Buffer => {
    if (at + sizeBytes > file.length) throw new Error('the ticket cache ends too early');
    at += sizeBytes;
    return file.subarray(at - sizeBytes, at);
  };
  const short = () => take(2).readUInt16BE();
  const long = () => take(4).readUInt32BE();
  const data = () => take(long());
  const principal = (): string => {
    // The kind of its name, the number of its parts, and its realm.
    long();
    const count = long();
    data();
    const parts: string[] = [];
    for (let index = 0; index < count; index += 1) parts.push(data().toString('utf8'));
    return parts.join('/');
  };
  const list = () => {
    for (let count = long(); count > 0; count -= 1) {
      short();
      data();
    }
  };
  const version = short();
  if (!versions.has(version)) throw new Error('the ticket cache has an unknown format');
  if (version === withHeader) take(short());
  principal();
  const beginning = file.subarray(0, at);
  const tickets: Ticket[] = [];
  while (at < file.length) {
    const start = at;
    principal();
    const server = principal();
    // The key, the times of login and start, the end, the end of renewals, whether it is for a user's own key, and flags.
    short();
    data();
    take(4 + 4);
    const endsAtMs = long() * 1000;
    take(4 + 1 + 4);
    // Addresses and rights, then the ticket and a second one.
    list();
    list();
    data();
    data();
    tickets.push({ server, endsAtMs, bytes: file.subarray(start, at) });
  }
  return { beginning, tickets };
}
