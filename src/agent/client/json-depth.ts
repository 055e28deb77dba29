/**
 * True if a JSON text nests arrays and objects deeper than `maxDepth`. Checks the text itself: a hostile document can
 * be deep enough to overflow the stack of code that later walks or copies the parsed value.
 */
export function isNestedDeeperThan(text: string, maxDepth: number): boolean {
  let depth = 0;
  for (let index = 0; index < text.length; index++) {
    switch (text.charCodeAt(index)) {
      case 0x22: {
        index = closingQuote(text, index);
        break;
      }
      case 0x5b:
      case 0x7b: {
        depth++;
        if (depth > maxDepth) return true;
        break;
      }
      case 0x5d:
      case 0x7d: {
        depth--;
        break;
      }
    }
  }
  return false;
}

/** Index of the quote that ends the string starting at `start`, or the end of the text. */
function closingQuote(text: string, start: number): number {
  let quote = text.indexOf('"', start + 1);
  while (quote !== -1) {
    let backslashes = 0;
    while (text.charCodeAt(quote - 1 - backslashes) === 0x5c) backslashes++;
    if (backslashes % 2 === 0) return quote;
    quote = text.indexOf('"', quote + 1);
  }
  return text.length;
}
