import { packageVersion } from '@picket/lib/version.ts';
import { ranks } from '@picket/platform/ids/keys.ts';
import type { Viewer } from '@picket/service/logins/sessions.ts';
import type { Assets } from './assets.ts';
import { csrfField } from './elements/form.ts';
import { icon } from './elements/icon.ts';
import { type Content, type Html, html } from './html.ts';

export const themes = ['auto', 'light', 'dark'] as const;
export type Theme = (typeof themes)[number];

/** A link of the navigation. */
export interface NavigationEntry {
  readonly path: string;
  readonly word: string;
  readonly icon: string;
}

export interface Frame {
  readonly title: string;
  readonly main: Html;
  readonly assets: Assets;
  readonly theme: Theme;
  /** The current path, for the navigation and redirects back. */
  readonly path: string;
  /** Absent without a login. */
  readonly viewer?: Viewer;
  readonly navigation?: readonly NavigationEntry[];
  /** Number of failing checks, for the browser's tab. */
  readonly failing: number;
  /** Result of the last form of this browser. */
  readonly toast?: string | undefined;
  /** Problem of the service itself. */
  readonly trouble?: string;
  /** Source of live events; absent for a static page. */
  readonly live?: string;
}

/** Renders a whole document. */
export function layout(frame: Frame): string {
  const { title, main, assets, theme, viewer, failing, toast } = frame;
  const tabTitle = `${failing > 0 ? `(${failing}) ` : ''}${title} · Picket`;
  const tabIcon = (failing > 0 ? assets.iconFailing : assets.icon).path;
  return `<!doctype html>${html`<html lang="en" data-theme="${theme}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="htmx-config" content="includeIndicatorCSS:false, history:reload">
<title>${tabTitle}</title>
<link rel="icon" href="${tabIcon}" type="image/svg+xml">
<link rel="stylesheet" href="${assets.style.path}">
<script src="${assets.htmx.path}" defer></script>
<script src="${assets.app.path}" defer></script>
</head>
<body${frame.live !== undefined && viewer ? html` data-live="${frame.live}"` : ''}>
<a class="skip" href="#main">Skip to the content</a>
${header(frame)}
<main id="main" tabindex="-1" data-title="${tabTitle}" data-icon="${tabIcon}">${frame.trouble === undefined ? '' : html`<p class="notice notice-refused" role="alert">${frame.trouble}</p>`}${main}</main>
${footer(frame)}
${toast === undefined ? '' : html`<div class="toasts"><p class="toast" role="status" data-sent>${toast}</p></div>`}
</body>
</html>`}`;
}

/** On narrow screens the navigation opens over the page, which needs no script; on others it is always visible. */
function header({ viewer, navigation = [], path }: Frame): Html {
  return html`<header class="top">
<a class="brand" href="/">${mark()}<span>Picket</span></a>
${
  viewer
    ? html`<a class="button search-button" href="/search" data-palette${ranks[viewer.role] >= ranks.READ_WRITE ? html` data-create="/checks/new"` : ''}>${icon('search')}<span>Search</span><kbd aria-hidden="true">/</kbd></a>
<button class="button menu-button" type="button" popovertarget="menu">${icon('three-bars')}Menu</button>
<nav id="menu" aria-label="Pages" popover><ul>${navigation.map(
        (item) =>
          html`<li><a href="${item.path}"${isCurrent(item.path, path) ? html` aria-current="page"` : ''}>${icon(item.icon)}${item.word}</a></li>`,
      )}</ul>
<form class="who" id="logout" method="post" action="/logout">${csrfField(viewer)}
<span class="who-name" title="${viewer.actor.kind === 'MEMBER' ? 'You' : 'The API key you logged in with'}">${viewer.actor.name}</span>
<button class="button bare" type="submit" aria-label="Log out" title="Log out">${icon('sign-out')}</button></form></nav>`
    : ''
}
</header>`;
}

function isCurrent(item: string, address: string): boolean {
  const [path = ''] = address.split('?');
  if (item === '/') return path === '/' || path.startsWith('/checks');
  return path === item || path.startsWith(`${item}/`);
}

function footer({ theme, path }: Frame): Html {
  const words: Readonly<Record<Theme, string>> = { auto: 'Automatic', light: 'Light', dark: 'Dark' };
  return html`<footer class="bottom">
<span>Picket ${packageVersion()}</span>
<span class="zone" data-zone>Times are UTC</span>
<a href="/v1/openapi.json">API</a>
<form class="themes" method="post" action="/theme"><input type="hidden" name="back" value="${path}">
<span id="theme-label">Theme</span>${themes.map(
    (one) =>
      html`<button type="submit" name="theme" value="${one}" aria-pressed="${String(one === theme)}">${words[one]}</button>`,
  )}</form>
</footer>`;
}

/** The logo, a fence: like the bars of a check that passes. */
function mark(): Html {
  const pickets = [0, 7, 14, 21].map((x) => html`<path d="M${x} 6l2.5-4 2.5 4v17h-5z"/>`);
  return html`<svg class="mark" viewBox="0 0 26 24" width="26" height="24" aria-hidden="true">${pickets}<path d="M0 14h26v2.5H0z"/></svg>`;
}

/** Heading of a page, with optional content in the same line. */
export function heading(title: Content, inLine: Content = ''): Html {
  return html`<div class="heading"><h1>${title}</h1>${inLine}</div>`;
}
