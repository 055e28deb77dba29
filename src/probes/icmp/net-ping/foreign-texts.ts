/** Which package is missing, by what the module loader of Node, or the package `bindings`, says. */
export function missingPackageIn(message: string): 'net-ping' | 'raw-socket' | undefined {
  if (message.includes("'net-ping'")) return 'net-ping';
  return message.includes('raw.node') ? 'raw-socket' : undefined;
}
