/** One line on standard error that says what is being done, on terminals only. */
export function showProgress(output: NodeJS.WriteStream = process.stderr): {
  say(text: string): void;
  end(): void;
} {
  if (!output.isTTY) return { say: () => undefined, end: () => undefined };
  return {
    say: (text) => void output.write(`\r\u001b[2K${text} …`),
    end: () => void output.write('\r\u001b[2K'),
  };
}
