import { raw } from 'hono/html';
import type { Assets } from '../assets.ts';
import { type Content, type Html, html } from '../html.ts';
import { pageHeaders } from '../security-headers.ts';

export interface PublicFrame {
  readonly title: string;
  /** The name in the header, with its image and its link. */
  readonly name: string | null;
  readonly logo?: string | null;
  /** Replaces it in dark mode. */
  readonly logoDark?: string | null;
  readonly link?: string | null;
  readonly favicon?: string | null;
  readonly theme: 'auto' | 'light' | 'dark';
  readonly description?: string | null;
  /** Files with colours or rules of the page's owner. */
  readonly styles?: readonly string[];
  readonly feeds?: readonly { readonly type: string; readonly title: string; readonly path: string }[];
  readonly isWide?: boolean;
  /** Inline rules, with the nonce that the headers allow. */
  readonly style?: { readonly nonce: string; readonly css: string };
  /** Without scripts, for contexts that forbid them. */
  readonly isStill?: boolean;
  /** Whether search engines may index it. */
  readonly isListed?: boolean;
  /** Google Analytics tag for counting readers. */
  readonly analyticsTag?: string | null;
  readonly main: Content;
  readonly footer: Content;
}

const analyticsOrigin = 'https://www.googletagmanager.com';
const analyticsReceivers = [
  'https://*.google-analytics.com',
  'https://*.analytics.google.com',
  'https://*.googletagmanager.com',
];

/** Renders a whole public document: without navigation, account, or reader data. */
export function publicDocument(assets: Assets, frame: PublicFrame): string {
  const { title, main, theme, styles = [], feeds = [], favicon, description } = frame;
  return `<!doctype html>${html`<html lang="en" data-theme="${theme}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title}</title>
${description ? html`<meta name="description" content="${description}">` : ''}
${frame.isListed === false ? html`<meta name="robots" content="noindex">` : ''}
<link rel="icon" href="${favicon || assets.icon.path}">
<link rel="stylesheet" href="${assets.style.path}">
${styles.map((path) => html`<link rel="stylesheet" href="${path}">`)}
${feeds.map((feed) => html`<link rel="alternate" type="${feed.type}" title="${feed.title}" href="${feed.path}">`)}
${frame.style ? html`<style nonce="${frame.style.nonce}">${raw(frame.style.css.replaceAll(/<\/(?=style)/gi, '<\\/'))}</style>` : ''}
${frame.isStill ? '' : html`<script src="${assets.app.path}" defer></script>`}
${frame.analyticsTag && !frame.isStill ? analytics(assets, frame.analyticsTag) : ''}
</head>
<body class="public${frame.isWide ? ' public-wide' : ''}">
<a class="skip" href="#main">Skip to the content</a>
${header(frame)}
<main id="main" tabindex="-1">${main}</main>
<footer class="bottom">${frame.footer}<span class="zone" data-zone>Times are UTC</span></footer>
</body>
</html>`}`;
}

function analytics(assets: Assets, tag: string): Html {
  const script = `${analyticsOrigin}/gtag/js?id=${encodeURIComponent(tag)}`;
  return html`<script src="${assets.analytics.path}" data-tag="${tag}"></script>
<script src="${script}" async></script>`;
}

function header({ name, logo: light, logoDark, link, theme }: PublicFrame): Html | '' {
  const logo = (theme === 'dark' && logoDark) || light || logoDark;
  if (name === null && !logo) return '';
  const image = html`<img class="public-logo" src="${logo ?? ''}" alt="${name ? '' : 'Logo'}">`;
  const both = html`<picture>${
    logoDark && theme === 'auto'
      ? html`<source media="(prefers-color-scheme: dark)" srcset="${logoDark}">`
      : ''
  }${image}</picture>`;
  const inside = html`${logo ? both : ''}${name === null ? '' : html`<span>${name}</span>`}`;
  return html`<header class="public-top">${
    link
      ? html`<a class="public-name" href="${link}" rel="noopener nofollow">${inside}</a>`
      : html`<span class="public-name">${inside}</span>`
  }</header>`;
}

/**
 * Returns the headers of a public page. They allow files of this service and the images of the page's owner, and Google
 * Analytics if the owner chose it. Content of the page cannot load anything else.
 */
export function publicHeaders(
  images: readonly (string | null | undefined)[],
  { hasAnalytics = false }: { readonly hasAnalytics?: boolean } = {},
): Record<string, string> {
  const origins = new Set(images.flatMap((image) => (image && URL.parse(image)?.origin) || []));
  const counting = hasAnalytics ? analyticsReceivers : [];
  const policy = pageHeaders['content-security-policy']
    .replace("script-src 'self'", ["script-src 'self'", ...(hasAnalytics ? [analyticsOrigin] : [])].join(' '))
    .replace("img-src 'self' data:", ["img-src 'self'", ...origins, ...counting].join(' '))
    .replace(
      "media-src 'self'; connect-src 'self'; ",
      hasAnalytics ? `connect-src ${counting.join(' ')}; ` : '',
    );
  return { ...pageHeaders, 'content-security-policy': policy };
}

/** Renders a document for the case that there is no page to show. */
export function publicNotice(
  assets: Assets,
  options: {
    readonly title: string;
    readonly text: Content;
    readonly more?: Content;
    readonly isStill?: boolean;
  },
): string {
  const { title, text, more = '', isStill = false } = options;
  return publicDocument(assets, {
    title,
    name: null,
    theme: 'auto',
    isStill,
    main: html`<div class="error-page"><h1>${title}</h1><p>${text}</p>${more}</div>`,
    footer: '',
  });
}
