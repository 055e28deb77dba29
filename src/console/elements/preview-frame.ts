import { type Html, html } from '../html.ts';
import { pageHeaders } from '../security-headers.ts';

/**
 * Frame for the preview of a form. Forms submit their values to it by a button with `formtarget="preview"`; with
 * scripts this happens automatically. Its content has no permissions: no scripts, no forms.
 */
export function previewFrame(title: string): Html {
  return html`<section class="preview"><h2>Preview</h2><iframe name="preview" title="${title}" sandbox="allow-same-origin"></iframe></section>`;
}

/** Content security policy of a page with a preview frame. */
export function previewPolicy(): string {
  return `${pageHeaders['content-security-policy']}; frame-src 'self'`;
}

/** Headers of a page inside a preview frame: its owner's style, and no embedding by other origins. */
export function previewedHeaders(policy: string, nonce: string): Record<string, string> {
  return {
    'content-security-policy': policy
      .replace("style-src 'self'", `style-src 'self' 'nonce-${nonce}'`)
      .replace("frame-ancestors 'none'", "frame-ancestors 'self'")
      .replace("script-src 'self'", "script-src 'none'"),
    'x-frame-options': 'SAMEORIGIN',
  };
}
