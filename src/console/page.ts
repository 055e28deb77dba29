import type { Clock } from '@picket/lib/clock.ts';
import type { ArtifactStore } from '@picket/platform/artifact-store/artifact-store.ts';
import type { KeyRole } from '@picket/platform/ids/keys.ts';
import type { Answer } from '@picket/platform/operations/answer.ts';
import type { Operations } from '@picket/platform/operations/operations.ts';
import type { Store } from '@picket/platform/store/store.ts';
import type { Viewer } from '@picket/service/logins/sessions.ts';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { FileLinks } from './artifacts/links.ts';
import type { Assets } from './assets.ts';
import type { Html } from './html.ts';

/** A request of an authorized viewer for a page. */
export interface PageCall {
  readonly viewer: Viewer;
  /** Parameters of the path. */
  readonly params: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  /** The fields of the sent form; empty for GET. */
  readonly form: URLSearchParams;
  /** Calls operations of the API as the viewer: their account, their role, the same validation. */
  readonly api: Operations;
  /** Creates addresses that open files of runs. */
  readonly links: FileLinks;
  readonly store: Store;
  readonly artifactStore: ArtifactStore;
  readonly clock: Clock;
  /** The address of the service for browsers and agents, if its operator set one. */
  readonly publicUrl?: string | undefined;
  /** The files that documents load. */
  readonly assets: Assets;
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
}

/** Content of a page between header and footer. */
export interface View {
  /** Replaces the title in the registry. */
  readonly title?: string;
  readonly main: Html;
  /** 200 by default; 422 for a form shown again with its problems. */
  readonly statusCode?: number;
  /** The page refreshes when results arrive. */
  readonly isLive?: boolean;
  /** If set, it follows one check only. */
  readonly liveCheckId?: string;
  /** The version of the account's statuses that it shows, if older than the request. */
  readonly version?: number;
  /** Number of failing checks, for the title and the icon of the browser's tab. */
  readonly failing?: number;
}

/** A redirect; the next page shows the message for some seconds, such as `Saved.` */
export interface Redirect {
  readonly goTo: string;
  readonly toast?: string;
}

/** Response of a handler: a view, a redirect, a file of an operation, or nothing because it has responded itself. */
export type PageAnswer = View | Redirect | { readonly file: Answer } | 'answered';

/**
 * A page: one line in registry.ts. Requests that the viewer's role does not allow, and forms without a CSRF token, are
 * refused before the handler is called.
 */
export interface Page {
  /** POST for forms. */
  readonly method?: 'GET' | 'POST';
  /** With `:name` for parameters, and `*` for the rest at the end. */
  readonly path: string;
  readonly title: string;
  /** The lowest role that may see it. */
  readonly role: KeyRole;
  /** The word in the navigation, and its icon (elements/icon.ts); other pages link to pages without one. */
  readonly navigation?: { readonly word: string; readonly icon: string };
  readonly handler: (call: PageCall) => Promise<PageAnswer>;
  /** Whether a script sends a file as the body; its CSRF token is in the header `x-csrf`. */
  readonly isUpload?: boolean;
}

/** Defines the form handlers of an area, by path suffix; each changes something. */
export function posts(
  base: string,
  all: Readonly<Record<string, readonly [title: string, handler: Page['handler']]>>,
): Page[] {
  return Object.entries(all).map(([end, [title, handler]]) => ({
    method: 'POST',
    path: `${base}${end}`,
    title,
    role: 'READ_WRITE',
    handler,
  }));
}
