import { chownSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { impassableFolder, systemProgram } from '../../../src/sandbox/supervisor/launch.ts';

/** A user that has no name and no rights, as the one of a container image. */
export const plainUid = 12_398;

const checkout = join(import.meta.dirname, '../../..');

/**
 * Starts programs of this checkout as a plain user.
 *
 * A checkout that such a user cannot reach (below a closed home folder), or that sandboxes cover (below /tmp), is shown at
 * another place, to the program alone: in a mount namespace of its own.
 */
export class PlainUser implements Disposable {
  /** A folder that belongs to the user and that all may pass. */
  readonly home: string;
  /** Where the checkout is for programs of the user. */
  readonly checkout: string;
  readonly #isShown: boolean;

  /** Only as root. */
  constructor() {
    this.home = mkdtempSync('/var/tmp/picket-plain-user-');
    chownSync(this.home, plainUid, plainUid);
    const needed = [join(checkout, 'src/cli.ts'), process.execPath];
    this.#isShown = needed.some((path) => impassableFolder(path) || path.startsWith('/tmp/'));
    this.checkout = this.#isShown ? join(this.home, 'checkout') : checkout;
  }

  /** What comes before a program and its arguments; paths of the checkout among those are put right. */
  get wrapper(): readonly string[] {
    const identity = [`--reuid=${plainUid}`, `--regid=${plainUid}`, '--clear-groups', '--inh-caps=-all'];
    const lowered = [systemProgram('setpriv'), ...identity, '--'];
    if (!this.#isShown) return lowered;
    const script = `set -e
      mkdir -p "$2/node"; chmod 755 "$2"
      for entry in "$1"/* "$1"/.[!.]*; do
        if [ -d "$entry" ]; then mkdir -p "$2/\${entry##*/}"; mount --bind "$entry" "$2/\${entry##*/}"
        elif [ -f "$entry" ]; then cp "$entry" "$2"; fi
      done
      mount --bind "$3" "$2/node"
      from=$1; to=$2; node=$3; shift 3; count=$#
      while [ "$count" -gt 0 ]; do
        case $1 in "$node"/*) next=$to/node\${1#"$node"} ;; "$from"/*) next=$to\${1#"$from"} ;; *) next=$1 ;; esac
        shift; set -- "$@" "$next"; count=$((count - 1))
      done
      exec "$@"`;
    mkdirSync(this.checkout, { recursive: true });
    const shown = [checkout, this.checkout, dirname(process.execPath)];
    return [systemProgram('unshare'), '--mount', '/bin/sh', '-c', script, 'show', ...shown, ...lowered];
  }

  [Symbol.dispose](): void {
    rmSync(this.home, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
  }
}
