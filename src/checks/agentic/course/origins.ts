/** Where a URL may stand in a prompt. */
const everyUrl = /https?:\/\/[^\s"'<>“”‘’()[\]{}]+/gi;

/** The origins that a run may reach: those of the URLs in its prompt, and those that the check adds. */
export function allowedOrigins(prompt: string, added: readonly string[]): string[] {
  const named = [...prompt.matchAll(everyUrl)].flatMap(([text]) => {
    const url = URL.parse(text.replace(/[.,;:!?]+$/, ''));
    return url ? [url.origin] : [];
  });
  return [...new Set([...named, ...added])];
}
