import { type Html, html } from '../html.ts';
import { pageHeaders } from '../security-headers.ts';

/**
 * The place of a page as a form would make it. Forms send what they hold into it by a button with
 * `formtarget="preview"`; with scripts that happens by itself. It may do nothing at all: no script, no form.
 */
export function previewFrame(title: string): Html {
  return html`<section class="preview"><h2>Preview</h2><iframe name="preview" title="${title}" sandbox="allow-same-origin"></iframe></section>`;
}

/** What a page that holds such a place is held to. */
export function previewPolicy(): string {
  return `${pageHeaders['content-security-policy']}; frame-src 'self'`;
}

/** What a page in such a place is held to: its owner's style, and nobody else may show it. */
export function previewedHeaders(policy: string, nonce: string): Record<string, string> {
  return {
    'content-security-policy': policy
      .replace("style-src 'self'", `style-src 'self' 'nonce-${nonce}'`)
      .replace("frame-ancestors 'none'", "frame-ancestors 'self'")
      .replace("script-src 'self'", "script-src 'none'"),
    'x-frame-options': 'SAMEORIGIN',
  };
}
