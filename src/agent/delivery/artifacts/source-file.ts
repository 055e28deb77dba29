import { constants } from 'node:fs';
import { type FileHandle, open, readlink } from 'node:fs/promises';
import { resolve } from 'node:path';
import { errorCodeOf } from '@picket/lib/errors.ts';

/** The opened file that a run left, or the reason why it is refused. */
export type SourceFile =
  | { readonly file: FileHandle; readonly sizeBytes: number }
  | { readonly file: undefined; readonly reason: string };

/**
 * Opens a file that a script may have prepared. The script must not use the agent to read files that it cannot read
 * itself, nor block the agent: only regular files with a single name are opened, and no symbolic link may be in the
 * path. The checks apply to the opened file, not to the path, which may point elsewhere a moment later.
 *
 * The caller closes the file.
 */
export async function openSource(path: string): Promise<SourceFile> {
  let file: FileHandle;
  try {
    // Without O_NONBLOCK, opening a FIFO blocks until it has a writer.
    file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch (thrown) {
    const code = errorCodeOf(thrown) ?? 'unknown';
    const reasons: Record<string, string> = {
      ELOOP: 'it is a symbolic link',
      ENOENT: 'there is no such file',
      ENXIO: 'it is not a regular file',
      ERR_INVALID_ARG_VALUE: 'its path is not valid',
    };
    return { file: undefined, reason: reasons[code] ?? `it cannot be opened (${code})` };
  }
  try {
    const { size, nlink, isRegular } = await file
      .stat()
      .then((stat) => ({ size: stat.size, nlink: stat.nlink, isRegular: stat.isFile() }));
    const reason = isRegular ? await linkReason(file, path, nlink) : 'it is not a regular file';
    if (reason === undefined) return { file, sizeBytes: size };
    await file.close();
    return { file: undefined, reason };
  } catch (thrown) {
    await file.close();
    throw thrown;
  }
}

async function linkReason(file: FileHandle, path: string, nlink: number): Promise<string | undefined> {
  if (nlink > 1) return 'it has several names (hard links)';
  // Only Linux reports the path of an open file; elsewhere O_NOFOLLOW covers only the last part of the path.
  if (process.platform !== 'linux') return undefined;
  const opened = await readlink(`/proc/self/fd/${file.fd}`);
  return opened === resolve(path) ? undefined : 'there is a symbolic link in its path';
}
