/** What is known of a column of a chunk: its bytes, or null for one that is not stored because it says nothing. */
interface Entry {
  readonly column: Uint8Array | null;
  readonly sizeBytes: number;
}

/** What an entry costs beside its content. */
const entryBytes = 200;

/**
 * Columns of sealed chunks, encoded, which never change, up to a number of bytes; what was not used for longest goes first. The
 * same months are asked for again and again: by a dashboard, by an API client with another metric or page.
 */
export class ColumnCache {
  readonly #maxBytes: number;
  readonly #entries = new Map<string, Entry>();
  #sizeBytes = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** undefined when nothing is known. */
  get(key: string): Uint8Array | null | undefined {
    const entry = this.#entries.get(key);
    if (!entry) return undefined;
    this.#entries.delete(key);
    this.#entries.set(key, entry);
    return entry.column;
  }

  set(key: string, column: Uint8Array | null): void {
    if (this.#entries.has(key)) return;
    const entry = { column, sizeBytes: entryBytes + key.length + (column?.byteLength ?? 0) };
    this.#entries.set(key, entry);
    this.#sizeBytes += entry.sizeBytes;
    for (const [oldest, { sizeBytes }] of this.#entries) {
      if (this.#sizeBytes <= this.#maxBytes) break;
      this.#entries.delete(oldest);
      this.#sizeBytes -= sizeBytes;
    }
  }
}
