/**
 * Whether a JavaScript error shows that the script itself is wrong. `perhaps`: the target may also be the cause, if its
 * response is not what the script expects: a TypeError, or a response that is not JSON.
 */
export function scriptErrorIn(message: string): 'surely' | 'perhaps' | null {
  const [, name] = /\b(ReferenceError|SyntaxError|TypeError|RangeError): /.exec(message) ?? [];
  if (name === undefined) return null;
  const isSurely = name === 'ReferenceError' || (name === 'SyntaxError' && !/\bJSON\b/.test(message));
  return isSurely ? 'surely' : 'perhaps';
}

/** Returns the name of the error at the beginning of a message, or anywhere in it. */
export function errorNameIn(message: string, where: 'beginning' | 'anywhere'): string | undefined {
  return (where === 'beginning' ? /^(\w*Error): / : /\b(\w+Error): /).exec(message)?.[1];
}
