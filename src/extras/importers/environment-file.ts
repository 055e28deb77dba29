/**
 * Values as a `.env` file, each in a kind of quotes that it does not contain.
 *
 * @returns `unwritten`: names of values that contain every kind of quotes, and are left out.
 */
export function environmentFile(values: Readonly<Record<string, string>>): {
  readonly text: string;
  readonly unwritten: readonly string[];
} {
  const unwritten: string[] = [];
  const lines = Object.entries(values).flatMap(([name, value]) => {
    // Between double quotes \n would be a line break.
    const quote = ["'", '`', '"'].find(
      (one) => !value.includes(one) && (one !== '"' || !value.includes('\\')),
    );
    if (quote === undefined || value.includes('\r')) {
      unwritten.push(name);
      return [];
    }
    return [`${name}=${quote}${value}${quote}\n`];
  });
  return { text: lines.join(''), unwritten };
}
