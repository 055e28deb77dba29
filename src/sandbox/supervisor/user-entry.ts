import { readFileSync } from 'node:fs';
import { errorCodeOf } from '@picket/lib/errors.ts';

/** The name of a sandbox's user and group for its programs. */
const name = 'picket-script';

/** A file of the host without an entry for a sandbox's user, and its content with one. */
export interface UserFile {
  readonly path: string;
  readonly content: string;
}

/**
 * Returns `/etc/passwd` and `/etc/group` for a sandbox, so that its user id has a name: programs that query their user
 * (`id`, `git`, `os.userInfo()`) fail without one. Files that contain the id already, or do not exist, are omitted.
 */
export function userFiles(user: {
  readonly uid: number;
  readonly gid: number;
  readonly directory: string;
}): readonly UserFile[] {
  const { uid, gid, directory } = user;
  return [
    ...withEntry('/etc/passwd', uid, `${name}:x:${uid}:${gid}::${directory}:/bin/sh`),
    ...withEntry('/etc/group', gid, `${name}:x:${gid}:`),
  ];
}

function withEntry(path: string, id: number, entry: string): UserFile[] {
  let content: string;
  try {
    content = readFileSync(path, 'latin1');
  } catch (thrown) {
    if (errorCodeOf(thrown) === 'ENOENT') return [];
    throw thrown;
  }
  // The id is the third field in both files.
  if (content.split('\n').some((line) => line.split(':')[2] === String(id))) return [];
  return [{ path, content: `${content.replace(/\n?$/, '\n')}${entry}\n` }];
}
