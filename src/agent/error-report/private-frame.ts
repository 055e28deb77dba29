import { fileURLToPath } from 'node:url';
import { packageFolder } from '@picket/lib/version.ts';
import type { AgentErrorFrame } from '@picket/protocol/agent/agent-error.ts';

const packageRoot = fileURLToPath(packageFolder());
const outside: AgentErrorFrame = { filename: '<outside>', function: '?', lineno: 0, colno: 0 };

/**
 * Reduces a stack frame to what may be sent: files of this package and its bundled libraries, relative to the package,
 * and Node's own. For all others even the function name is removed.
 */
export function privateFrame(frame: {
  readonly filename?: string | undefined;
  readonly function?: string | undefined;
  readonly lineno?: number | undefined;
  readonly colno?: number | undefined;
}): AgentErrorFrame {
  const filename = shownFile(frame.filename ?? '');
  if (filename === undefined) return outside;
  const name = /^[\w$.#<> []{1,100}\]?$/.exec(frame.function ?? '')?.[0] ?? '?';
  return { filename, function: name, lineno: frame.lineno ?? 0, colno: frame.colno ?? 0 };
}

function shownFile(path: string): string | undefined {
  if (/^node:[\w/-]+$/.test(path)) return path;
  const file = path.startsWith('file:') ? fileURLToPath(path) : path;
  const library = file.lastIndexOf('/node_modules/');
  if (library >= 0) return file.slice(library + 1);
  return file.startsWith(packageRoot) ? file.slice(packageRoot.length) : undefined;
}
