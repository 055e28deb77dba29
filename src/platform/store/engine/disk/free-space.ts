import { statfs } from 'node:fs/promises';

/** Figures of the disk that holds a store, as known to this process. */
export interface StorageFigures {
  /** Writes that failed because of the disk, since the process started. */
  readonly refusedWrites: number;
  /** Absent if the disk belongs to another machine. */
  readonly freeBytes: number | undefined;
}

/** Returns the number of bytes that this user may still write at a directory. */
export async function freeBytesOf(directory: string): Promise<number> {
  const { bavail, bsize } = await statfs(directory);
  return bavail * bsize;
}
