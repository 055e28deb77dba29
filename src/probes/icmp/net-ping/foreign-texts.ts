/** Finds the missing package in an error of Node's module loader or of the package `bindings`. */
export function missingPackageIn(message: string): 'net-ping' | 'raw-socket' | undefined {
  if (message.includes("'net-ping'")) return 'net-ping';
  return message.includes('raw.node') ? 'raw-socket' : undefined;
}
