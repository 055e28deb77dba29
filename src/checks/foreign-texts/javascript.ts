/**
 * Whether an error of the language says that the script is wrong by itself. What it took for granted of an answer may
 * be the target's: a TypeError, or an answer that is not JSON.
 */
export function scriptErrorIn(message: string): 'surely' | 'perhaps' | null {
  const [, name] = /\b(ReferenceError|SyntaxError|TypeError|RangeError): /.exec(message) ?? [];
  if (name === undefined) return null;
  const isSurely = name === 'ReferenceError' || (name === 'SyntaxError' && !/\bJSON\b/.test(message));
  return isSurely ? 'surely' : 'perhaps';
}

/** The name of the error at the beginning of a message, or anywhere in it. */
export function errorNameIn(message: string, where: 'beginning' | 'anywhere'): string | undefined {
  return (where === 'beginning' ? /^(\w*Error): / : /\b(\w+Error): /).exec(message)?.[1];
}
