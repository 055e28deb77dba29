import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { errorCodeOf } from '@picket/lib/errors.ts';
import { ReferenceProblem } from './problem.ts';

/** A secret has at most 128 KiB; a document with fields may hold several. */
const maxFileBytes = 1_048_576;
/** Some file systems give no size. */
const usualBytes = 4096;

/**
 * Reads a file without white space at its ends. Follows links anew at each call, so a mounted Kubernetes secret, whose
 * link is swapped, is read as it is now.
 *
 * @throws ReferenceProblem if it cannot be read.
 */
export async function readSecretFile(path: string): Promise<string> {
  let bytes: Buffer;
  try {
    // A pipe without a writer would block the opening, and a device would never end.
    const handle = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
    try {
      bytes = await contentOf(handle);
    } finally {
      await handle.close();
    }
  } catch (thrown) {
    if (thrown instanceof ReferenceProblem) throw thrown;
    const code = errorCodeOf(thrown) ?? 'unknown error';
    if (code === 'ENOENT' || code === 'ENOTDIR')
      throw new ReferenceProblem('NOT_FOUND', 'the file does not exist');
    if (code === 'EACCES' || code === 'EPERM') {
      throw new ReferenceProblem('DENIED', 'the agent may not read the file');
    }
    throw new ReferenceProblem('FAILED', `the file cannot be read: ${code}`);
  }
  if (bytes.length > maxFileBytes) {
    throw new ReferenceProblem('TOO_LARGE', `the file is larger than ${maxFileBytes} bytes`);
  }
  return bytes.toString('utf8').trim();
}

async function contentOf(handle: FileHandle): Promise<Buffer> {
  const stats = await handle.stat();
  const sizeBytes = stats.size;
  if (!stats.isFile()) {
    throw new ReferenceProblem('UNUSABLE', 'the path is not that of a file');
  }
  const lengthBytes = Math.min(Math.max(sizeBytes, usualBytes), maxFileBytes) + 1;
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(lengthBytes), 0, lengthBytes, 0);
  return buffer.subarray(0, bytesRead);
}
