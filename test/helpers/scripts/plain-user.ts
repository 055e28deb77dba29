import { chownSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { impassableFolder, systemProgram } from '../../../src/sandbox/supervisor/launch.ts';

/** A user without a name or privileges, like the user of a container image. */
export const plainUid = 12_398;

const checkout = join(import.meta.dirname, '../../..');

/**
 * Starts programs of this checkout as a plain user.
 *
 * If the user cannot reach the checkout (below a closed home folder), or sandboxes would cover it (below /tmp), the
 * program runs in its own mount namespace with the checkout mounted elsewhere.
 */
export class PlainUser implements Disposable {
  /** A folder that the user owns and that all users may traverse. */
  readonly home: string;
  /** Path of the checkout for programs of the user. */
  readonly checkout: string;
  readonly #isShown: boolean;

  /** Requires root. */
  constructor() {
    this.home = mkdtempSync('/var/tmp/picket-plain-user-');
    chownSync(this.home, plainUid, plainUid);
    const needed = [join(checkout, 'src/cli.ts'), process.execPath];
    this.#isShown = needed.some((path) => impassableFolder(path) || path.startsWith('/tmp/'));
    this.checkout = this.#isShown ? join(this.home, 'checkout') : checkout;
  }

  /** Command that precedes a program and its arguments; it corrects paths of the checkout in the arguments. */
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
