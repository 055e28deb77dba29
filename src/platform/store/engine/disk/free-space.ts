import { statfs } from 'node:fs/promises';

/** What a process knows of the disk that one of its stores is on. */
export interface StorageFigures {
  /** Writes that failed because of the disk, since the process started. */
  readonly refusedWrites: number;
  /** Absent where the disk is another machine's. */
  readonly freeBytes: number | undefined;
}

/** The bytes this user may still write where a directory is. */
export async function freeBytesOf(directory: string): Promise<number> {
  const { bavail, bsize } = await statfs(directory);
  return bavail * bsize;
}
