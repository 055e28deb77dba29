import { readFileSync } from 'node:fs';
import { errorCodeOf } from '@picket/lib/errors.ts';

/** The name by which programs of a sandbox know their user and its group. */
const name = 'picket-script';

/** A file of the host in which a user of a sandbox has no entry, and its content with one. */
export interface UserFile {
  readonly path: string;
  readonly content: string;
}

/**
 * What `/etc/passwd` and `/etc/group` have to say in a sandbox, so that its user id has a name: programs that ask who they run as
 * (`id`, `git`, `os.userInfo()`) fail without one. Files that name it already, or are not there, are left out.
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
  // The id is the third field of both.
  if (content.split('\n').some((line) => line.split(':')[2] === String(id))) return [];
  return [{ path, content: `${content.replace(/\n?$/, '\n')}${entry}\n` }];
}
